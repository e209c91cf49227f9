"""Where two texts part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import text

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("", "", ""),
        ("abc", "abd", "ab"),
        ("abc", "abc", "abc"),
        ("abc", "abcd", "abc"),
        ("e\u0301tude", "e\u0300tude", ""),  # marks belong to the letter before them
        ("cafe", "cafe\u0301", "caf"),  # also where one text ends there
        ("x\u0928\u093f", "x\u0928\u0940", "x"),  # a vowel sign
        ("a\U0001f600b", "a\U0001f601b", "a"),
        ("a\ud83d\ude00", "a\ud83d\ude01", "a"),  # two escapes of a file, which make one character
        (f"{FAMILY}!", f"{FAMILY[:-1]}\U0001f466!", ""),
        ("\U0001f44d\U0001f3fb", "\U0001f44d\U0001f3ff", ""),  # tones of skin
        ("\U0001f1e9\U0001f1ea", "\U0001f1e9\U0001f1f0", ""),  # flags
        ("\U0001f1e9\U0001f1ea\U0001f1eb", "\U0001f1e9\U0001f1ea\U0001f1ec", "\U0001f1e9\U0001f1ea"),
        ("a\r\nb", "a\rb", "a"),
        ("\uac00\u11a8", "\uac00\u11a9", ""),  # a syllable put together from its letters
    ],
)
def test_texts_part_between_characters(a: str, b: str, same: str) -> None:
    assert a[: text.alike(a, b)] == same == b[: text.alike(b, a)]


def test_a_heap_of_marks_without_end_is_cut_and_costs_no_more() -> None:
    a, b = "a" + "\u0301" * 1_000_000 + "x", "a" + "\u0301" * 1_000_000 + "y"
    assert text.alike(a, b) == 1_000_001
    heap = "\u0301" * 1000
    assert text.alike(heap + "\u0302", heap + "\u0303") == 1000


@given(st.text(max_size=300), st.text(max_size=20), st.text(max_size=20))
def test_what_is_alike_begins_both_texts_and_loses_no_more_than_a_character(head: str, a: str, b: str) -> None:
    one, other = head * 300 + a, head * 300 + b
    at = text.alike(one, other)
    assert one[:at] == other[:at] and at <= min(len(one), len(other))
    equal = next((n for n, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
    assert all(text.goes_on(one, n) or text.goes_on(other, n) for n in range(at + 1, equal + 1)) or equal - at > 255
