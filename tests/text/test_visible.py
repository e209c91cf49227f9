"""Nothing hostile passes, everything else does."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.text.visible import visible, visible_line

ANY = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x07\r", "a␛[31mb␇␍"),
        ("\x7f\x9b", "␡<U+009B>"),
        ("\u202eevil\u2069", "<U+202E>evil<U+2069>"),
        ("\ufeff\u200b\u2028", "<U+FEFF><U+200B><U+2028>"),
        ("\U000e0041", "<U+E0041>"),
        ("\ud83d", "\ufffd"),
        ("\ufffe\uffff\ufdd0\U0001fffe\U0010ffff", "<U+FFFE><U+FFFF><U+FDD0><U+1FFFE><U+10FFFF>"),
    ],
)
def test_what_is_hostile_becomes_visible(text: str, shown: str) -> None:
    assert visible(text) == visible_line(text) == shown


@pytest.mark.parametrize("text", ["诗 é ß", "👩\u200d👩\u200d👧", "می\u200cخواهم", "[/INST] [bold] <b> :smile:", ""])
def test_what_is_text_stays(text: str) -> None:
    assert visible(text) == visible_line(text) == text


def test_lines_stay_unless_one_is_wanted() -> None:
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == "a␊␉b"


@given(ANY)
def test_no_control_character_passes(text: str) -> None:
    assert not [c for c in visible(text) if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not [c for c in visible_line(text) if unicodedata.category(c) in ("Cc", "Cs")]
    assert not [c for c in visible(text) if unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI")]
    assert visible(visible(text)) == visible(text)
