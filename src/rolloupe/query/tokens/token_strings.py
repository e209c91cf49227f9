"""Token strings as tokenizers write them: as text, and their places in the texts of a sample.

Some frameworks store the text of a token; others store the vocabulary's own spelling: the byte-level alphabet of GPT-2
(`Ġ` for a blank, `Ċ` for a line break, a letter for every other byte) or that of SentencePiece (`▁` for a blank).

A record shows the place of each token in three ways. If the response begins with the text of the token strings, they
give every token its characters. Otherwise a turn may name the tokens that it consists of; if its text is nothing but
the ids of these tokens, they have places, too. And if the prompt is one turn, that is the turn of the tokens before the
response.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.formats.token_texts import strings_of_prompt
from rolloupe.model import Part, Sample, Turn
from rolloupe.tokenizer.vocabulary import BYTES, byte_fallback, bytes_of, completed, text_of
from rolloupe.tokens import Flags

Lengths = NDArray[np.int64]
Places = NDArray[np.int32]
UNKNOWN = -1

Spelling = Literal["plain", "bytes", "pieces"]
"""How token strings are written: as text, in the letters that stand for bytes, or with `▁` for a blank."""

_PLAIN, _MARK = " \n", "▁"
_BLANKS = "".join(letter for letter, byte in BYTES.items() if byte in b" \n")


def lengths_within(strings: Sequence[str], text: str) -> Lengths | None:
    """Return how many characters each token covers, shape (T,); None if `text` does not begin with the tokens.

    A token that ends within a character covers those before it; the token that completes the character covers it. A
    special token, such as `<|im_end|>`, covers nothing where the text leaves it out, as responses often do at the end.
    """
    if text.startswith("".join(strings)):  # as they mostly are: a tenth of the time
        return np.fromiter(map(len, strings), np.int64, len(strings))
    without = (_without_left_out(pieces, text) for pieces in _spelled(strings))
    for pieces in chain(_spelled(strings), without):
        if pieces is not None and (lengths := _lengths(pieces, text)) is not None:
            return lengths
    return None


def _without_left_out(pieces: list[bytes], text: str) -> list[bytes] | None:
    """Return the pieces, empty for each special token that the text leaves out; None if other tokens are missing."""
    data, at, kept = text.encode("utf-8", "surrogatepass"), 0, []
    for piece in pieces:
        is_there = data.startswith(piece, at)
        if not is_there and not (piece.startswith(b"<") and piece.endswith(b">")):
            return None
        kept.append(piece if is_there else b"")
        at += len(kept[-1])
    return kept


def texts_of_tokens(sample: Sample) -> list[str]:
    """Return the token strings of a sample as text. Of several tokens that make one character, the last has it."""
    strings, spelling = sample.token_strings, spelling_of(sample)
    if spelling == "plain":
        return list(strings)
    pieces = {string: _bytes_of(string, spelling) for string in {*strings}}
    texts = {string: text_of(piece) for string, piece in pieces.items()}
    return completed([*map(texts.__getitem__, strings)], lambda at: pieces[strings[at]])


def texts_of_response(sample: Sample) -> list[str]:
    """Return the token strings of the response as text, without those of the prompt if the record tells them apart."""
    return texts_of_tokens(sample)[strings_of_prompt(sample) :]


def spelling_of(sample: Sample) -> Spelling:
    """Return the spelling of a sample's token strings; those that a tokenizer decoded are text."""
    return "plain" if sample.is_decoded else _spelling(sample.token_strings)


def each_readable(strings: Sequence[str]) -> list[str]:
    """Return token strings of many places as text, each by itself. A part of a character stays as it is."""
    spelling = _spelling(strings)
    return [text_of(_bytes_of(string, spelling)) or string for string in strings]


def _spelling(strings: Sequence[str]) -> Spelling:
    """Return the spelling, which blanks and line breaks show; plain where most of these are plain."""
    different = {*strings}
    whole = "".join(different)
    if not any(sign in whole for sign in (*_BLANKS, *_MARK)):
        return "plain"
    plain, letters, marks = (
        sum(any(sign in string for sign in signs) for string in different) for signs in (_PLAIN, _BLANKS, _MARK)
    )
    if plain >= max(letters, marks):
        return "plain"
    return "bytes" if letters >= marks else "pieces"


def _bytes_of(string: str, spelling: Spelling) -> bytes:
    encoded = string.encode("utf-8", "replace")
    if spelling == "bytes":
        data = bytes_of(string)
        return encoded if data is None else data
    if spelling == "pieces":
        is_special = string.startswith("<") and len(string) > 1  # a byte, or a special token
        return byte_fallback(encoded) if is_special else encoded.replace(_MARK.encode(), b" ")
    return encoded


def _spelled(strings: Sequence[str]) -> Iterator[list[bytes]]:
    """Yield the bytes of token strings in each spelling that they may have."""
    yield [string.encode("utf-8", "surrogatepass") for string in strings]
    with suppress(KeyError):  # a special token with a blank in it, or another alphabet
        yield [bytes(map(BYTES.__getitem__, string)) for string in strings]
    yield [_bytes_of(string, "pieces") for string in strings]


def _lengths(pieces: list[bytes], text: str) -> Lengths | None:
    data = text.encode("utf-8", "surrogatepass")
    if not data.startswith(b"".join(pieces)):
        return None
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    is_first = (np.frombuffer(data, dtype=np.uint8) & 0xC0) != 0x80
    begun = np.concatenate([[0], np.cumsum(is_first)])
    inside = np.append(~is_first, False)[ends]  # the byte after the token continues a character
    lengths: Lengths = np.diff(begun[ends] - inside, prepend=0)
    return lengths


class TokenSpans(NamedTuple):
    """A place for each token, shape (T,) each; `UNKNOWN` if the record does not show it.

    `start` and `stop` count UTF-16 units in the text of the part as displayed. They are unknown for a token that
    belongs to a part but not to its displayed text, such as the tags of a think block.
    """

    turn: Places
    part: Places
    start: Places
    stop: Places

    def within(self, first: int, stop: int) -> "TokenSpans":
        """Return the places of some tokens."""
        return TokenSpans(*(column[first:stop] for column in self))


class _Piece(NamedTuple):
    """A part within the joined text of some turns: the characters `start` to `stop`, and the displayed ones within."""

    turn: int
    part: int
    start: int
    stop: int
    shown_start: int
    shown_stop: int


def spans_of(sample: Sample, total: int, mask: Flags | None = None) -> TokenSpans:
    """Place the `total` tokens of a sample. The token strings are of the last ones; `mask` says which were sampled."""
    spans = TokenSpans(*(np.full(total, UNKNOWN, dtype=np.int32) for _ in TokenSpans._fields))
    for number, turn in enumerate(sample.turns):
        _place_turn(spans, sample, number, turn)
    strings, prompt = sample.token_strings, strings_of_prompt(sample)
    first = max(0, total - len(strings))
    _place_strings(spans, first, strings[:prompt], _turns(sample, "prompt"))
    _place_strings(spans, first + prompt, strings[prompt:], _turns(sample, "response"))
    asked = _turns(sample, "prompt")
    if len(asked) == 1:
        of_prompt = spans.turn[: prompt_length(sample, total, mask)]
        of_prompt[of_prompt < 0] = asked[0][0]
    return spans


def prompt_length(sample: Sample, total: int, mask: Flags | None) -> int:
    """Return how many tokens precede the response: the first sampled one, and the token strings. 0 if unknown."""
    if not _turns(sample, "prompt"):
        return 0
    sampled = [int(mask.argmax())] if mask is not None and mask.any() else []
    strings = [] if sample.is_decoded or not sample.token_strings else [max(0, total - len(sample.token_strings))]
    return min(sampled + strings, default=0)


def _turns(sample: Sample, origin: str) -> list[tuple[int, Turn]]:
    return [(number, turn) for number, turn in enumerate(sample.turns) if turn.origin == origin]


def _place_turn(spans: TokenSpans, sample: Sample, number: int, turn: Turn) -> None:
    if turn.token_start is None or turn.token_stop is None:
        return
    first, stop = max(0, turn.token_start), min(len(spans.turn), turn.token_stop)
    if first >= stop:
        return
    spans.turn[first:stop] = number
    words = [str(token) for token in sample.token_ids[first:stop]]
    if len(words) == stop - first and len(turn.parts) == 1 and turn.parts[0].text == " ".join(words):
        ends = np.fromiter(accumulate(len(word) + 1 for word in words), dtype=np.int32, count=len(words)) - 1
        spans.part[first:stop] = 0
        spans.stop[first:stop] = ends
        spans.start[first:stop] = ends - np.array([len(word) for word in words], dtype=np.int32)


def _place_strings(spans: TokenSpans, first: int, strings: Sequence[str], turns: Sequence[tuple[int, Turn]]) -> None:
    """Place the tokens from `first` on, whose strings these are, in the text of these turns."""
    text = "".join(_verbatim(part) for _, turn in turns for part in turn.parts)
    lengths = lengths_within(strings, text) if strings else None
    if lengths is None:
        return
    pieces = list(_pieces(turns))
    if not pieces:
        return
    stops = np.cumsum(lengths)
    starts = stops - lengths
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    units = np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))])  # of UTF-16, before each character
    at = np.searchsorted([piece.stop for piece in pieces], starts, side="right")
    table = np.array(pieces, dtype=np.int64)[np.minimum(at, len(pieces) - 1)]  # a left out token ends the response
    turn, part, _, _, low, high = table.T
    is_shown = (starts >= low) & (starts < high) & (at < len(pieces))
    stop = first + len(lengths)
    spans.turn[first:stop], spans.part[first:stop] = turn, part
    spans.start[first:stop] = np.where(is_shown, units[starts] - units[low], UNKNOWN)
    spans.stop[first:stop] = np.where(is_shown, units[np.minimum(stops, high)] - units[low], UNKNOWN)


def _pieces(turns: Sequence[tuple[int, Turn]]) -> Iterator[_Piece]:
    """The parts of some turns in the order of their joined text; parts without text are skipped."""
    at = 0
    for number, turn in turns:
        for place, part in enumerate(turn.parts):
            verbatim = _verbatim(part)
            shift = -1 if part.call or part.media or not part.text else verbatim.find(part.text)
            low, high = (at + shift, at + shift + len(part.text)) if shift >= 0 else (at, at)
            if verbatim:
                yield _Piece(number, place, at, at + len(verbatim), low, high)
            at += len(verbatim)


def _verbatim(part: Part) -> str:
    return part.text if part.raw is None else part.raw
