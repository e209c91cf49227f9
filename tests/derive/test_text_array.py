"""Texts as one array: what is found in many at once is what plain Python finds in each."""

import re
from collections import Counter
from itertools import pairwise

import re2
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import text
from rolloupe.derive import METRICS
from rolloupe.derive.text_array import (
    AROUND,
    BEYOND,
    LATIN,
    PAD,
    SHORT,
    TextArray,
    letters_of,
    sentences_of,
    word_starts,
    words_at,
)
from tests.derive.test_metrics import value

PIECES = (
    "One sentence here", "another sentence", ". ", "! ", "? ", "。", "！", "？", "...", "\n", "\r\n", "\t", " ", "\0",
    "x", "日本", "ÄÖ", "да", "é", "\u00a0", "\ud800", "𝐀", "𠀀", "CAPS", "CAPITALS", "under_SCORES", "ПРИВЕТ", "",
)  # fmt: skip
many = st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join), max_size=6)


def plain(written: str) -> str:
    return written.replace("\0", " ").encode("utf-8", "replace").decode()


@given(many)
def test_sentences_are_lines_cut_at_stops(texts: list[str]) -> None:
    found = sentences_of(TextArray(texts))
    expected = [
        (number, sentence)
        for number, written in enumerate(texts)
        for line in re.sub("[.!?] |[。！？]", "\n", plain(written)).split("\n")
        if len(sentence := line.strip(AROUND)) >= SHORT
    ]
    assert [*zip(found.texts.tolist(), found.strings.to_pylist(), strict=True)] == expected
    assert found.chars.tolist() == [len(sentence) for _, sentence in expected]


@given(many)
def test_repeated_and_copied_sentences_are_those_of_each_sample(texts: list[str]) -> None:
    for prompt, response in pairwise(texts):
        asked, written = (sentences_of(TextArray([one])).strings.to_pylist() for one in (prompt, response))
        counts = Counter(written)
        assert value("repeated_sentences", response) == counts.total() - len(counts)
        long = {sentence for sentence in asked if len(sentence) >= 20}
        assert value("copied_sentences", response, prompt=prompt) == sum(sentence in long for sentence in written)


@given(many)
def test_letters_are_counted_by_script(texts: list[str]) -> None:
    total, others = letters_of(TextArray(texts))
    for number, written in enumerate(map(plain, texts)):
        letters = [one for one in written if (one.isalpha() if ord(one) < BEYOND else 0x20000 <= ord(one) < 0x40000)]
        latin = [one for one in letters if any(first <= ord(one) <= last for first, last in LATIN)]
        assert (total[number], others[number]) == (len(letters), len(letters) - len(latin))


@given(many)
def test_capitals_are_those_of_the_pattern(texts: list[str]) -> None:
    for written in texts:
        found = b"".join(re2.findall(METRICS["capitals"].pattern.encode(), plain(written).encode()))
        letters = int(letters_of(TextArray([written])).total[0])
        share = value("capitals", text.clean(written))
        assert share == (len(found.decode()) / letters if found else 0) and 0 <= share <= 1
    assert value("capitals", "𝐀𝐁𝐂𝐃 are signs") == 0


@given(st.lists(st.sampled_from(["a", "the", "longest1", "longest12", "日", "é", "\t", "\x1f"]), max_size=12))
def test_words_are_compared_by_their_first_eight_bytes(words: list[str]) -> None:
    data = " ".join(words).encode() + PAD
    found = [int(word).to_bytes(8, "little").rstrip(b"\0").decode() for word in words_at(data, word_starts(data))]
    assert found == [word[:8] for word in words if word.strip()]
