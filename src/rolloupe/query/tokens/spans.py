"""The place of each token in the texts of its sample, if the record shows it.

The record has three sources. If the response begins with the text of the token strings, they give every token its
characters. Otherwise a turn may name the tokens that it consists of; if its text is nothing but the ids of these
tokens, they have places, too. And if the prompt is one turn, that is the turn of the tokens before the response.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.formats.token_texts import strings_of_prompt
from rolloupe.model import Part, Sample, Turn
from rolloupe.query.tokens.token_strings import lengths_within
from rolloupe.tokens import Flags

Places = NDArray[np.int32]
UNKNOWN = -1


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
        """The places of some tokens."""
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
    """Place the tokens of a sample that has `total` of them. The token strings, if any, belong to the last ones.

    `mask` says which tokens were sampled, if that is known.
    """
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
    """Return how many tokens precede the response: those before the first sampled one and before the token strings.

    0 without a prompt, and where neither says so.
    """
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
    stops = np.cumsum(lengths)
    starts, units = stops - lengths, _units_before(text)
    pieces = list(_pieces(turns))
    if not pieces:
        return
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


def _units_before(text: str) -> NDArray[np.int64]:
    """The number of UTF-16 units before each character, and before the end; shape (characters + 1,)."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))])
