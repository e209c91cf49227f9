"""Words and phrases of texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.features import MAX_WORDS, phrases_of, words_of

PIECES = ("<think>", "</a", "\\frac", "12", "ab", "Ab", "你好", "é", "🙂", "!!", "\n", " ", "'")
texts = st.lists(st.sampled_from(PIECES) | st.text()).map("".join)


def words_in(*some: str) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in some]
    encoded = [one.encode("utf-8", "replace") for one in some]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)])
    words = words_of(data, offsets)
    for start, stop, text in zip(words.starts, words.stops, words.texts, strict=True):
        found[text].append(data[start:stop].tobytes().decode())
    return found


def hashes_of(text: str) -> list[int]:
    data = np.frombuffer(text.encode(), np.uint8)
    hashes: list[int] = words_of(data, np.array([0, len(data)])).hashes.tolist()
    return hashes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" \n", []),
        ("I'm 12.5", ["I", "'", "m", "12", ".", "5"]),
        ("<think>So, yes!!</think>", ["<think>", "So", ",", "yes", "!!", "</think>"]),
        ("<|im_end|> a < b > c", ["<|im_end|>", "a", "<", "b", ">", "c"]),
        ("\\boxed{3} x\\\\", ["\\boxed", "{", "3", "}", "x", "\\\\"]),
        ("你好，world", ["你", "好", "，", "world"]),
        ("naïve русский 🙂🙂", ["naïve", "русский", "🙂", "🙂"]),
        (f"<{'a' * 50}>", ["<", "a" * 50, ">"]),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert words_in(text) == [words]


def test_case_and_numbers_do_not_count_and_letters_do() -> None:
    assert hashes_of("Check 12") == hashes_of("check  7") != hashes_of("checks 12")
    assert hashes_of("a" * 30) != hashes_of("a" * 31) and hashes_of("=====") == hashes_of("==")
    assert hashes_of("abcdefgh-12345678") != hashes_of("abcdefgx")


@given(st.lists(texts, min_size=1, max_size=5))
def test_texts_beside_each_other_have_the_words_that_each_has_alone(some: list[str]) -> None:
    assert words_in(*some) == [words_in(one)[0] for one in some]


@given(texts)
def test_words_are_the_text_without_its_blanks(text: str) -> None:
    whole = text.encode("utf-8", "replace").decode()
    joined = "".join(words_in(text)[0])
    assert joined == "".join(one for one in whole if one > " " and one != "\x7f")


def test_phrases_have_one_to_five_words_and_stay_within_a_text() -> None:
    words = np.array(hashes_of("a b c d e f"), np.uint64)
    lengths = {length: len(found) for length, found, _ in phrases_of(words, np.zeros(6, np.int64))}
    assert lengths == {1: 6, 2: 5, 3: 4, 4: 3, 5: 2}
    of_two = {length: first.tolist() for length, _, first in phrases_of(words, np.array([0, 0, 0, 1, 1, 1]))}
    assert of_two == {1: [0, 1, 2, 3, 4, 5], 2: [0, 1, 3, 4], 3: [0, 3], 4: [], 5: []}


def test_a_phrase_has_one_hash_wherever_it_stands() -> None:
    *_, (_, whole, _), _, _ = phrases_of(np.array(hashes_of("so we check"), np.uint64), np.zeros(3, np.int64))
    (own,) = whole.tolist()
    words = np.array(hashes_of("And so we check, and so we checked."), np.uint64)
    found = [found.tolist() for _, found, _ in phrases_of(words, np.zeros(len(words), np.int64))]
    assert [one.count(own) for one in found] == [0, 0, 1, 0, 0] and own % 4096 == 0
    assert len(found) == MAX_WORDS == 5
