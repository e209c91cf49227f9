"""docs/formats.md is what the code says."""

from pathlib import Path

from rolloupe.formats import built_in_formats, describe

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_page_of_formats_is_the_one_that_the_code_writes() -> None:
    assert PAGE.read_text(encoding="utf-8") == describe(), "Next: write describe() to docs/formats.md"


def test_every_format_is_described() -> None:
    for one in built_in_formats():
        assert f"## {one.title} (`{one.name}`)" in describe()
