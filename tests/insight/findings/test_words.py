"""The words of findings: the same everywhere, and true of what they are about."""

from pathlib import Path

import pytest

from rolloupe.cli.commands.findings import findings
from rolloupe.insight.findings import CLASSES, MEANINGS
from rolloupe.insight.findings.search import quoted, sentence_of
from rolloupe.insight.findings.trend import Trend
from tests.thoroughness import each

DOCS = Path(__file__).parents[3] / "docs"


def test_the_command_line_agents_and_documents_say_what_a_class_means_in_the_same_words() -> None:
    pytest.importorskip("mcp")
    from rolloupe.mcp.tools import TOOLS

    about = " ".join((findings.help or "").split())
    for name in CLASSES:
        assert f"{name} ({MEANINGS[name]})" in TOOLS["findings"].about and f"{name} ({MEANINGS[name]})" in about
        assert f"| **{name}**: {MEANINGS[name]} |" in (DOCS / "findings.md").read_text(encoding="utf-8")


def trend(first: float, last: float, early: float = 0, late: float = 0) -> Trend:
    return Trend(9, 1, first, last, early, late)


PHRASE, LENGTH = ("“a b”", ""), ("length", "characters")
TYPICAL_USES = "earns +0.17 over siblings, from typically 5.2 uses early to 7 late"
TYPICAL = "Each doubling of length earns +0.3 over siblings, from typically 612 characters early to 1,804 late"


@each(
    ("sentence", "expected"),
    [
        (sentence_of("suspect", *PHRASE, 0.123, trend(0.081, 0.94)),
         "“a b” earns +0.12 over siblings, in 8% of the responses early, 94% late; correctness does not follow."),
        (sentence_of("watch", *PHRASE, 0.1, trend(0.001, 0.04)),
         "“a b” earns +0.1 over siblings, in under 1% of the responses early, 4% late; there is no clear rise."),
        (sentence_of("watch", "refusing", "refusals", -0.1, trend(0.501, 0.502)),
         "Refusing costs 0.1 against siblings, in 50% of the responses; there is no clear rise."),
        (sentence_of("watch", *LENGTH, 0.3, trend(1, 1, 612.4, 1804)),
         f"{TYPICAL}; there is no clear rise."),
        (sentence_of("earned", "“.”", "", 0.17, trend(0.999, 1, 5.24, 7)),
         f"Each doubling of “.” {TYPICAL_USES}; correctness goes with it."),
        (sentence_of("drift", *LENGTH, 0, trend(1, 1, 600, 720)),
         ("Length is on the rise, from typically 600 characters early to 720 late; "
         "the reward does not clearly pay for it.")),
        (sentence_of("earned", *PHRASE, 0.2, trend(0.996, 0.9)),
         "“a b” earns +0.2 over siblings, in over 99% of the responses early, 90% late; correctness goes with it."),
    ],
)  # fmt: skip
def test_a_sentence_is_true_of_its_numbers(sentence: str, expected: str) -> None:
    assert sentence == expected


@each(
    ("phrase", "shown"),
    [
        ("i ' m sure , i double - checked ( twice ) it", "i'm sure, i double-checked (twice) it"),
        ("i ' … double - checked", "i'… double-checked"),
        ("don ’ t stop", "don’t stop"),
        ("# - # is #", "# - # is #"),
    ],
)
def test_a_phrase_is_written_as_in_the_text(phrase: str, shown: str) -> None:
    assert quoted(phrase) == f"“{shown}”"
