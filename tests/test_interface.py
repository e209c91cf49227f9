"""What the documents say of the page is shown by tests that exist, assert something, and look at what the row says."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"^\| (?!what holds|---)(.*) \| (.*) \|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/.]+)::([^`]+)`")
ROWS = LINE.findall((ROOT / "docs/interface.md").read_text(encoding="utf-8"))
STEM_LETTERS = 5
"""Words that begin with the same letters count as one."""
ASSERTS = r"\bassert\b|\bexpect\(|(?<![\w.])(?:check_\w+|quick|at)\("
"""What asserts something: a statement, or a function of the tests' own that has one."""
FEW_WORDS = 3
"""A row of more words shares two with its test, a shorter row one."""


def source_of(named: str) -> str:
    """The source of a named test, to the next test of its depth; empty without that test."""
    match = NAMED.fullmatch(named)
    assert match is not None, named
    file, name = match.groups()
    text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
    is_python = file.endswith(".py")
    place = text.find(f"\ndef {name}(" if is_python else f'("{name}"')
    if place < 0:
        return ""
    start = text.rfind("\n", 0, place + 1) + 1
    line = text[start:]
    indent = line[: len(line) - len(line.lstrip(" "))]
    following = re.compile(r"^def test_" if is_python else rf"^{indent}(?:it|describe)\b", re.MULTILINE)
    after = following.search(text, place + len(name))
    return text[start : after.start() if after else len(text)]


def stems(text: str) -> set[str]:
    """The beginnings of the longer words of a text, split where names join words."""
    words = re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())
    return {word[:STEM_LETTERS] for word in words if len(word) > 3 or word.isdigit()}


def test_the_interface_has_a_row_for_each_behaviour() -> None:
    assert len(ROWS) > 200


@pytest.mark.parametrize(("row", "named"), ROWS)
def test_each_row_names_a_test_that_looks_at_it(row: str, named: str) -> None:
    source = source_of(named)
    assert source != "", "no such test"
    assert re.search(ASSERTS, source), "the test asserts nothing"
    missing = [
        name for name in re.findall(r"`([^`]+)`", row) if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source)
    ]
    assert missing == []
    wanted = stems(row)
    assert len(wanted & stems(source)) >= (2 if len(wanted) > FEW_WORDS else 1), "the test shares too few words"
