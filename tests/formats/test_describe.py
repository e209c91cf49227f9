"""docs/formats.md has a section for each format, with the names that the code knows."""

import re
from pathlib import Path

from rolloupe.formats import built_in_formats
from rolloupe.formats.generic.keys import USUAL
from rolloupe.formats.reading.codecs import MAX_RATIO
from rolloupe.formats.reading.field_map import ROLES
from rolloupe.formats.reading.line_reader import MAX_LINE_BYTES
from rolloupe.formats.reading.trackers.sqlite import MAX_ROW_BYTES
from rolloupe.tokens import LOSS_MASKS

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
OPENING, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)


def section_of(name: str) -> str:
    """The section of a format."""
    (section,) = (section for section in SECTIONS if section.splitlines()[0].endswith(f" (`{name}`)"))
    return section


def test_every_format_is_described_in_the_order_of_discovery() -> None:
    parts = ("Recognised", "Layout", "Identity", "Limits")
    assert [section.splitlines()[0] for section in SECTIONS] == [
        f"{reader.title} (`{reader.name}`)" for reader in built_in_formats()
    ]
    assert all(re.findall(r"^\*\*(\w+)\*\*:", section, re.MULTILINE) == [*parts] for section in SECTIONS)


def test_the_usual_names_are_listed() -> None:
    roles = ("prompt", "response", "weak_response", "score", "outcome", "step", "weak_step", "group", "weak_group")
    for names in (*(USUAL[role] for role in roles), LOSS_MASKS, ROLES):
        assert ", ".join(f"`{name}`" for name in names) in section_of("generic")


def test_the_limits_are_those_of_the_code() -> None:
    limits = (f"{MAX_RATIO}-fold", f"beyond {MAX_LINE_BYTES // 2**20} MiB", f"beyond\n  {MAX_ROW_BYTES // 2**20} MiB")
    assert all(limit in OPENING for limit in limits)
