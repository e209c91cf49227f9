"""What the documents say of the page is shown by tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"^\| (?!what holds|---).* \| (.*) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/.]+)::([^`]+)`")


def test_every_test_that_the_interface_names_exists() -> None:
    lines = LINE.findall((ROOT / "docs/interface.md").read_text(encoding="utf-8"))
    assert len(lines) > 50
    missing = []
    for line in lines:
        found = NAMED.fullmatch(line)
        assert found is not None, line
        file, name = found.groups()
        path = ROOT / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        there = rf"^def {name}\(" if file.endswith(".py") else rf'\b(?:it|describe)\("{re.escape(name)}"'
        if re.search(there, text, re.MULTILINE) is None:
            missing.append(line)
    assert missing == []
