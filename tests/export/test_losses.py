"""The words for data that a layout cannot hold."""

import pytest

from rolloupe.export import convert
from rolloupe.export.convert import COUNTED, PLAIN, described


@pytest.mark.parametrize(
    ("word", "count", "told"),
    [
        ("token series logprobs", 24, ("24 samples", "token series logprobs")),
        ("reward", 1, ("1 sample", "reward")),
        ("configurations", 1, ("1 file", "configuration")),
        ("rows of trainer metrics", 1200, ("1,200 rows", "trainer metrics")),
        ("list of messages of the prompt", 2, ("2 samples", PLAIN["list of messages of the prompt"])),
        ("form of turns", 1, ("1 sample", "template markers, delimiters or blanks around the content of turns")),
        ("samples without token ids", 1, ("1 sample", "all of it: without token ids")),
    ],
)  # fmt: skip
def test_a_count_has_its_unit(word: str, count: int, told: tuple[str, str]) -> None:
    assert described(word, count) == told


def test_reports_are_known_by_their_word() -> None:
    assert __import__(convert.__module__, fromlist=["REPORTS"]).REPORTS in COUNTED
