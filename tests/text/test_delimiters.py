import re

from hypothesis import given
from hypothesis import strategies as st

from rolloupe.text import blocks
from rolloupe.text.blocks import Delimiters, literal

WORDS = sorted({*blocks.BLOCKS, *blocks.CLOSINGS, *blocks.MARKERS, *blocks.PLACEHOLDERS}, key=len, reverse=True)
DELIMITERS = Delimiters(map(literal, WORDS))
MANY = "<" * 64
PIECES = (*WORDS, MANY, "<", "[", "◁", "|>", "think", "\n", "x", "汉")


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_delimiters_are_those_of_one_expression_for_all(text: str) -> None:
    of_all = re.compile("|".join(map(re.escape, WORDS)))
    expected = [(match.start(), match[0]) for match in of_all.finditer(text)]
    assert [(match.start(), match[0]) for match in DELIMITERS.find(text)] == expected


def test_a_delimiter_that_comes_first_takes_precedence() -> None:
    some = Delimiters(map(literal, ("<a>\n", "<a>", "[b]")))
    assert [match[0] for match in some.find("[b]<a>\n<a>")] == ["[b]", "<a>\n", "<a>"]


def test_a_plain_text_has_no_delimiters() -> None:
    assert DELIMITERS.find("seven is prime") == []
