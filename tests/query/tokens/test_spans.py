"""Where tokens stand: whatever a text is cut into, the pieces have its characters, and no others."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import query, text
from rolloupe.errors import BadQuery
from rolloupe.model import Locator, Part, Sample, SampleKey, SampleRow, TokenSeries, Turn
from rolloupe.query import token_page
from rolloupe.query.tokens.page import each_readable, lengths_within, spans_of, texts_of_tokens
from rolloupe.tokenizer.vocabulary import BYTES
from rolloupe.tokens import values_of
from tests.index.support import opened

DATA = Path(__file__).parents[2] / "data"
LETTERS = {byte: letter for letter, byte in BYTES.items()}
KEY = SampleKey("train", 0, "g", "0")
texts = st.text(st.characters(codec="utf-8") | st.sampled_from("aé😀 \n<think>"), max_size=40)


def sample(turns: list[Turn], strings: list[str], **more: object) -> Sample:
    row = SampleRow(split="train", step=0, group="g", index="0", ordinal=0, start=0, length=0)
    made = Sample(key=KEY, row=row, locator=Locator(source="s", start=0, length=0), turns=turns, token_strings=strings)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_the_alphabet_of_bytes_is_that_of_gpt_2() -> None:
    assert (LETTERS[32], LETTERS[10], LETTERS[0xC3], LETTERS[0x00]) == ("Ġ", "Ċ", "Ã", "Ā")
    assert len(BYTES) == 256


@given(texts, st.data())
def test_pieces_of_a_text_have_its_characters(whole: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *cuts, len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges)]
    lengths = lengths_within(pieces, whole + "more")
    assert lengths is not None and lengths.tolist() == list(map(len, pieces))


@given(texts, st.data())
def test_bytes_of_a_text_have_a_character_where_they_complete_it(whole: str, data: st.DataObject) -> None:
    stored = whole.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stored)), max_size=6)))
    edges = [0, *cuts, len(stored)]
    pieces = ["".join(LETTERS[byte] for byte in stored[a:b]) for a, b in pairwise(edges)]
    lengths = lengths_within(pieces, whole)
    assert lengths is not None
    complete = [len(stored[:edge].decode(errors="ignore")) for edge in edges]
    if "".join(pieces) != whole:  # else the letters are the text itself
        assert np.cumsum(lengths).tolist() == complete[1:]
    assert int(lengths.sum()) == len(whole)


def test_a_text_of_another_tokenizer_has_no_places() -> None:
    assert lengths_within(["a", "b"], "ac") is None
    lengths = lengths_within(["▁a", "▁b"], " a b")
    assert lengths is not None and lengths.tolist() == [2, 2]


def test_tokens_find_the_part_that_shows_them_in_units_of_utf_16() -> None:
    turn = text.from_messages([{"role": "assistant", "content": "<think>a😀b</think>c😀d"}], "response")[0]
    prompt = Turn(role="user", parts=[Part(kind="text", text="q")])
    strings = ["<think>", "a😀", "b", "</think>", "c", "😀d"]
    spans = spans_of(sample([prompt, turn], strings), 7)
    shown = [part.text for part in turn.parts]
    assert spans.turn.tolist() == [0, 1, 1, 1, 1, 1, 1]
    for at, string in enumerate(strings, 1):
        start, stop = int(spans.start[at]), int(spans.stop[at])
        units = shown[spans.part[at]].encode("utf-16-le")
        expected = "" if string in ("<think>", "</think>") else string
        assert (units[2 * start : 2 * stop].decode("utf-16-le") if start >= 0 else "") == expected


def test_what_is_made_of_ids_has_the_places_of_its_ids(tmp_path: Path) -> None:
    (path,) = list((DATA / "prime_rl/mini").iterdir())[:1]
    with opened(path, tmp_path) as library:
        run = library.runs[0]
        item = next(iter(query.every(run, query.SampleQuery(limit=1))))
        found = query.sample(run, item.key)
        page = token_page(found)
        assert page.ids is not None and page.total == len(found.token_ids)
        for at in range(page.total):
            if page.spans.start[at] < 0:
                continue
            turn = found.turns[page.spans.turn[at]]
            assert turn.token_start is not None and turn.token_stop is not None
            assert turn.token_start <= at < turn.token_stop
            shown = turn.parts[page.spans.part[at]].text
            assert shown[page.spans.start[at] : page.spans.stop[at]] == str(page.ids[at])
        assert (page.spans.turn >= 0).any()


def test_turns_say_which_tokens_they_consist_of() -> None:
    turns = [
        Turn(role="user", parts=[Part(kind="text", text="q")], token_start=0, token_stop=2),
        Turn(role="assistant", parts=[Part(kind="text", text="r")], origin="response", token_start=2, token_stop=99),
    ]
    spans = spans_of(sample(turns, [], token_ids=[5, 6, 7]), 3)
    assert (spans.turn.tolist(), spans.part.tolist()) == ([0, 0, 1], [-1, -1, -1])


@given(st.integers(0, 9), st.integers(0, 9))
def test_the_values_of_a_series_lie_at_their_tokens(offset: int, size: int) -> None:
    whole = values_of(TokenSeries(name="s", values=[float(n) for n in range(size)], offset=offset), 40)
    assert whole[offset : offset + size].tolist() == [float(n) for n in range(size)]
    assert np.count_nonzero(~np.isnan(whole)) == size


def test_a_range_outside_of_the_tokens_is_refused() -> None:
    made = sample([], ["a", "b"], token_ids=[1, 2, 3])
    page = token_page(made, 1, 2)
    assert (page.total, page.start, page.stop, page.strings) == (3, 1, 3, ["a", "b"])
    assert token_page(made, 3).stop == 3
    for start, count in ((4, 1), (-1, 1), (0, -1)):
        with pytest.raises(BadQuery, match="has 3 tokens"):
            token_page(made, start, count)


def test_special_tokens_that_the_response_leaves_out_belong_to_its_last_turn() -> None:
    turn = Turn(role="assistant", parts=[Part(kind="text", text="ab c")], origin="response")
    spans = spans_of(sample([turn], ["<s>", "ab", " c", "<|im_end|>"]), 5)
    assert spans.turn.tolist() == [-1, 0, 0, 0, 0]
    assert (spans.start.tolist(), spans.stop.tolist()) == ([-1, 0, 0, 2, -1], [-1, 0, 2, 4, -1])
    assert lengths_within(["<s>", "ab", "x", " c"], "ab c") is None  # x is missing, and no special token
    assert lengths_within(["Ġa", "<eos>"], " a").tolist() == [2, 0]  # type: ignore[pyrefly:missing-attribute]


def readable(strings: list[str]) -> list[str]:
    return texts_of_tokens(sample([], strings))


def test_token_strings_are_readable_in_each_spelling() -> None:
    assert readable(["Ġa", "Ċ", "Ã", "<|im_end|>", "<｜end▁of▁sentence｜>"]) == [
        " a", "\n", "\ufffd", "<|im_end|>", "<｜end▁of▁sentence｜>",
    ]  # fmt: skip
    assert readable(["▁a", "b", "<｜end▁of▁sentence｜>", "▁"]) == [" a", "b", "<｜end▁of▁sentence｜>", " "]
    assert readable([" Ġ", "a"]) == [" Ġ", "a"]  # a real blank: the strings are the text
    assert readable([" Ġ", "Ġ语", "Ġa"])[1:] == ["Ġ语", " a"]  # most blanks are letters
    assert readable(["Ġa", "Ċ", "ðŁ", "ĺ", "Ģ", "!", "<| end |>"]) == [" a", "\n", "", "", "😀", "!", "<| end |>"]
    assert readable(["▁", "<0x0A>", "<0xE2>", "<0x88>", "<0x9A>", "▁\ud800"]) == [" ", "\n", "", "", "√", " ?"]
    assert readable([]) == []
    assert readable(["cpu ", "▁▂▃ ", "ħobż ", "Ġ"])[1:] == ["▁▂▃ ", "ħobż ", "Ġ"]  # signs of a spelling within text
    assert each_readable(["Ġthen", "Wait", "Ċ", "ðŁ"]) == [" then", "Wait", "\n", "ðŁ"]
    assert each_readable(["Wait", " then", ""]) == ["Wait", " then", ""]
