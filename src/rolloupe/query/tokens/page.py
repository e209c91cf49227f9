"""The tokens of a sample: ids, strings, places in the text and every token series, as arrays or as a table.

Some frameworks store the text of a token; others store the vocabulary's own spelling: the byte-level alphabet of GPT-2
(`Ġ` for a blank, `Ċ` for a line break, a letter for every other byte) or that of SentencePiece (`▁` for a blank).

A record shows the place of each token in three ways. If the response begins with the text of the token strings, they
give every token its characters. Otherwise a turn may name the tokens that it consists of; if its text is nothing but
the ids of these tokens, they have places, too. And if the prompt is one turn, that is the turn of the tokens before the
response.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import tokens
from rolloupe.errors import BadQuery
from rolloupe.formats.token_texts import strings_of_prompt
from rolloupe.index.token_stats.series import encodable
from rolloupe.model import RunLoss, Sample, Turn
from rolloupe.text import verbatim
from rolloupe.tokenizer.vocabulary import BYTES, byte_fallback, bytes_of, completed, text_of
from rolloupe.tokens import Flags, Origin, SampleSeries, token_count, trained

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
    """Return the token strings of a sample as text. If several tokens make one character, the last token has it."""
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
    """Return the spelling, judged by blanks and line breaks: plain if most of these are plain."""
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
    text = "".join(verbatim(turn) for _, turn in turns)
    lengths = lengths_within(strings, text) if strings else None
    if lengths is None:
        return
    pieces = []  # by part: the turn, the part, and where it stops, and is shown, in the joined text
    at = 0
    for number, turn in turns:
        for place, part in enumerate(turn.parts):
            raw = part.text if part.raw is None else part.raw
            shift = -1 if part.call or part.media or not part.text else raw.find(part.text)
            shown = (at + shift, at + shift + len(part.text)) if shift >= 0 else (at, at)
            at += len(raw)
            if raw:
                pieces.append((number, place, at, *shown))
    if not pieces:
        return
    stops = np.cumsum(lengths)
    starts = stops - lengths
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    units = np.concatenate([[0], np.cumsum(1 + (points > 0xFFFF))])  # of UTF-16, before each character
    table = np.array(pieces, dtype=np.int64)
    piece = np.searchsorted(table[:, 2], starts, side="right")
    own_turn, own_part, _, low, high = table[np.minimum(piece, len(pieces) - 1)].T  # a left out token ends the response
    is_shown = (starts >= low) & (starts < high) & (piece < len(pieces))
    stop = first + len(lengths)
    spans.turn[first:stop], spans.part[first:stop] = own_turn, own_part
    spans.start[first:stop] = np.where(is_shown, units[starts] - units[low], UNKNOWN)
    spans.stop[first:stop] = np.where(is_shown, units[np.minimum(stops, high)] - units[low], UNKNOWN)


USUAL_UPDATE = "ppo"  # the rule of a run whose configuration names none that its samples suffice for
ASSISTANT, PROMPT = "assistant", "prompt"

OWN = ("id", "text", "role", "mask", "top_logprobs")


def series_of(sample: Sample, total: int) -> list[SampleSeries]:
    """Return the recorded series of a sample, then derived ones, then differences: see `tokens.completed`."""
    recorded = {series.name: tokens.values_of(series, total) for series in sample.series}
    by_framework = [series.name for series in sample.series if not series.is_derived]
    return tokens.completed(recorded, by_framework, sample.row.advantage, group_advantage=sample.group_advantage)


def usual_update(names: Sequence[str], loss: RunLoss | None = None) -> str | None:
    """Return the first rule to show, among those that a sample suffices for: the run's own, else the recorded flags."""
    wanted = (loss.rule if loss else None, tokens.RECORDED, USUAL_UPDATE, *names)
    return next((name for name in wanted if name in names), None)


def update_names(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[str]:
    """Return the rules that these series suffice for, the run's own first; one rule for the logprobs of one policy."""
    inputs = tokens.loss_inputs(series)
    if inputs is None:
        return []
    is_one_policy = inputs.logprobs is inputs.old_logprobs is inputs.inference_logprobs
    names = ["reinforce"] if is_one_policy else [name for name in tokens.UPDATES if name != tokens.RECORDED]
    recorded = [] if inputs.recorded_mask is None else [tokens.RECORDED]
    return sorted([*recorded, *names], key=lambda name: loss is None or name != loss.rule)


class TokenPage(NamedTuple):
    """The tokens `start` to `stop` of the `total` of a sample. Every array has the shape (stop - start,)."""

    total: int
    start: int
    stop: int
    ids: NDArray[np.int64] | None  # none if the record holds no ids; -1 beyond the last one
    strings: Sequence[str] | None
    """The token strings of the response; empty for the tokens before it. None if the record holds none."""
    spans: TokenSpans
    series: dict[str, tokens.Floats]  # by name: recorded, derived, differences; NaN for a token without a value
    origins: dict[str, Origin]  # where each series comes from
    rules: list[tuple[tokens.MaskRule, str]]
    """The rules of masks that the series suffice for, and the series that each compares."""
    updates: list[str]  # the rules of updates that they suffice for
    spelling: Spelling = "plain"  # how the record writes the strings of the whole sample
    has_alternatives: bool = False  # true if the record holds alternatives of the sample's tokens
    partial: Mapping[int, bytes] = MappingProxyType({})
    """The bytes of the ids that are a part of a character, where a tokenizer made the strings."""
    loss: RunLoss | None = None  # the loss of the run, whose rules come first


def token_page(sample: Sample, start: int = 0, count: int | None = None, loss: RunLoss | None = None) -> TokenPage:
    """Return a range of tokens: at most `count` from `start` on. Raises `BadQuery` for one outside the sample."""
    total = token_count(sample)
    if not 0 <= start <= total or (count is not None and count < 0):
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: start={start} and count={count} lie outside of them")
    stop = total if count is None else min(total, start + count)
    series = series_of(sample, total)
    mask = tokens.trained({each.name: each.values for each in series}) if series else None
    ids = np.full(stop - start, -1, np.int64) if sample.token_ids else None
    if ids is not None:
        own = sample.token_ids[start:stop]
        ids[: len(own)] = own
    strings, before = None, total - len(sample.token_strings)
    if sample.token_strings:
        own_strings = sample.token_strings[max(0, start - before) : max(0, stop - before)]
        strings = [*[""] * max(0, min(before, stop) - start), *own_strings]
    return TokenPage(
        total=total,
        start=start,
        stop=stop,
        ids=ids,
        strings=strings,
        spans=spans_of(sample, total, mask).within(start, stop),
        series={each.name: each.values[start:stop] for each in series},
        origins={each.name: each.origin for each in series},
        rules=tokens.mask_rules(series, loss),
        updates=update_names(series, loss),
        spelling=spelling_of(sample),
        has_alternatives=bool(sample.top_logprobs),
        partial=sample.partial_tokens,
        loss=loss,
    )


def token_table(sample: Sample) -> pa.Table:
    """Return a row for each token: `id`, `text`, `role`, `mask` (true if it counts), every series, `top_logprobs`.

    `text` is readable text, null where the record holds no strings. `role` is null where the record does not say which
    turn a token belongs to, unless it was sampled; of a token before those it is `prompt` if the prompt has several
    turns. `top_logprobs` are what the model could have sampled, as JSON, so that all columns fit into CSV: a list of
    objects with `text` (an id as text, where the record holds no strings) and `logprob`; null where the record has
    none. A series with one of these five names is called `series.NAME`.
    """
    page = token_page(sample)
    total = token_count(sample)
    ids = pa.nulls(total, pa.int64()) if page.ids is None else pa.array(page.ids, mask=page.ids < 0)
    mask = trained(page.series) if page.series else None
    texts = texts_of_tokens(sample)  # of the last tokens
    columns = {
        "id": ids,
        "text": pa.array([*[None] * (total - len(texts)), *map(encodable, texts)], pa.string()),
        "role": roles_of(sample, page.spans.turn, mask),
        "mask": pa.nulls(total, pa.bool_()) if mask is None else pa.array(mask),
    }
    series = {f"series.{name}" if name in OWN else name: pa.array(values) for name, values in page.series.items()}
    alternatives: list[str | None] = [None] * (total - len(sample.top_logprobs))  # they are of the last tokens, too
    for recorded in sample.top_logprobs:
        named = [{"text": encodable(text), "logprob": logprob} for text, logprob in recorded]
        alternatives.append(json.dumps(named, ensure_ascii=False) if named else None)
    return pa.table(columns | series | {"top_logprobs": pa.array(alternatives, pa.string())})


def roles_of(sample: Sample, turns: Places, mask: Flags | None) -> pa.Array:
    """Return the role of each token. For a token without a turn, only its place decides: see `token_table`."""
    roles = [encodable(turn.role) for turn in sample.turns]
    places = turns.copy()
    if mask is not None:
        places[(turns < 0) & mask] = len(roles)
    of_prompt = places[: prompt_length(sample, len(turns), mask)]
    of_prompt[of_prompt < 0] = len(roles) + 1
    return pa.array([*roles, ASSISTANT, PROMPT], pa.string()).take(pa.array(places, mask=places < 0))


class Alternative(Struct, frozen=True):
    """A token that the model could have sampled: its string, or its id as text."""

    text: str
    logprob: float
    is_chosen: bool
    """True for the token that the model did sample."""


def token_alternatives(sample: Sample, token: int) -> list[Alternative]:
    """Return the recorded alternatives of a token, in order. Raises `BadQuery` for a token that the sample lacks."""
    total = token_count(sample)
    if not 0 <= token < total:
        raise BadQuery(f"sample {sample.key} has {total:,} tokens: token={token} lies outside of them")
    place = token - (total - len(sample.top_logprobs))
    recorded = sample.top_logprobs[place] if place >= 0 else []
    texts = [text for text, _ in recorded]
    strings, ids, own = sample.token_strings, sample.token_ids, None
    if not strings or sample.is_decoded:
        own = str(ids[token]) if token < len(ids) else None
    elif token >= total - len(strings):
        own = strings[token - total]
    chosen = texts.index(own) if own in texts else -1
    return [Alternative(text, logprob, number == chosen) for number, (text, logprob) in enumerate(recorded)]
