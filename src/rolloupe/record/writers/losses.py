"""Names what a layout loses of a sample: reads the written record back and compares.

The comparison is strict: it also names values that come back under another name, in another form or with fewer digits,
so an empty result means that both samples are the same.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rolloupe.model import Sample, SampleRow, TokenSeries, Turn
from rolloupe.record.writers.alignment import spread
from rolloupe.record.writers.wording import calls, media, said

OUTSIDE = " outside of what was sampled"
AT_FIRST = " at the first token"
FIELD = " (kept as a further field)"
ADDED = " (added)"
DIGITS = "digits beyond float32 of token series"
CLOSE = 1e-6
"""Relative tolerance for numbers that a trainer holds as float32."""

NOTHING: tuple[object, ...] = (None, "", {}, ("", ""), (None, None), "prompt", "response")
"""Attributes of a turn that need no comparison if the turn itself is missing."""

ABSENT: tuple[object, ...] = (None, "", "unknown", [], {})


def lost(sample: Sample, held: Sample | None, names: Mapping[str, str] | None = None, start: int = 0) -> Iterator[str]:
    """Yield a name for each difference between a sample and its copy read back.

    `names`: the layout's own names of series. `start`: the position, in the sample, of the copy's first token.
    """
    if held is None:
        yield "samples that the reader of the layout would refuse"
        return
    row, found = sample.row, held.row
    if not same(row.reward, found.reward):
        yield "reward" if row.reward is None or math.isfinite(row.reward) else "reward that is not finite"
    for word, mine, its in _values(sample, held):
        if not same(mine, its):
            yield word if mine not in ABSENT else f"{word}{ADDED}"
    for name, mine, its in named(row, found):
        if not same(mine, its):
            yield f"{name}{ADDED}" if mine in ABSENT else f"{name}{FIELD}" if is_kept(name, mine, held) else name
    if row.index != found.index and not _is_place(row):
        yield "sample number"
    yield from _of_texts(sample, held)
    yield from _of_turns(sample.turns, held.turns)
    if _written(sample.ref_turns) != _written(held.ref_turns):
        yield "response of the reference" if said(sample.ref_turns) != said(held.ref_turns) else "form of the reference"
    yield from _of_fields(sample, held)
    yield from _of_series(sample, held, names or {}, start)


def _values(sample: Sample, held: Sample) -> tuple[tuple[str, Any, Any], ...]:
    row, found = sample.row, held.row
    return (
        ("split", row.split, found.split), ("step", row.step, found.step), ("group", row.group, found.group),
        ("status", row.status, found.status), ("own word for the status", row.status_raw, found.status_raw),
        ("number of turns", row.turns, found.turns),
        ("tokens of the prompt", row.prompt_tokens, found.prompt_tokens),
        ("tokens of the response", row.response_tokens, found.response_tokens),
        ("tokens in all", row.total_tokens, found.total_tokens),
        ("ground truth", sample.label, held.label), ("reward of the reference", sample.ref_reward, held.ref_reward),
        ("token strings", sample.tokens, held.tokens), ("token ids", sample.token_ids, held.token_ids),
    )  # fmt: skip


def named(row: SampleRow, other: SampleRow) -> tuple[tuple[str, Any, Any], ...]:
    """Return the values of two rows that a layout may keep as a field of this name."""
    return (
        ("env", row.env, other.env), ("advantage", row.advantage, other.advantage), ("uid", row.uid, other.uid),
        ("trace_id", row.trace_id, other.trace_id), ("discarded", row.discarded, other.discarded),
    )  # fmt: skip


def is_kept(name: str, value: Any, held: Sample) -> bool:
    """Return whether a value is kept under its name among metrics, tags or further fields."""
    places: tuple[Mapping[str, Any], ...] = (held.row.metrics, held.row.tags, held.extra)
    return any(name in place and same(value, place[name]) for place in places)


def _is_place(row: SampleRow) -> bool:
    """True if a sample has no other number than its place in the file."""
    return row.index == str(row.start) or row.index.endswith(f":{row.start}")


def _of_texts(sample: Sample, held: Sample) -> Iterator[str]:
    """Compare prompt and response: their text, and whether they are texts or lists of messages."""
    for origin, mine, its, was, now in (
        ("prompt", sample.prompt_text, held.prompt_text, sample.prompt_messages, held.prompt_messages),
        ("response", sample.response_text, held.response_text, sample.response_messages, held.response_messages),
    ):
        if mine != its:
            differ = said(_of(sample.turns, origin)) != said(_of(held.turns, origin))
            yield f"text of the {origin}" if differ else f"form of the text of the {origin}"
        if was is not None and now is None:
            yield f"that the {origin} is a list of messages"
        elif was is not None and now is not None and not same(was, now):
            yield f"form of the messages of the {origin}"
        elif was is None and now is not None:
            yield f"form of the {origin} (a list of messages now)"


def _of(turns: list[Turn], origin: str) -> list[Turn]:
    return [turn for turn in turns if turn.origin == origin]


def _written(turns: list[Turn]) -> list[Any]:
    return [(turn.role, turn.parts, turn.name, turn.tool_call_id) for turn in turns]


def _of_turns(turns: list[Turn], held: list[Turn]) -> Iterator[str]:
    turns, held = _filled(turns, len(held)), _filled(held, len(turns))
    if [turn.role for turn in turns] != [turn.role for turn in held]:
        yield "turns and their roles"
    elif said(turns) != said(held):
        yield "parts of turns"
    elif [turn.parts for turn in turns] != [turn.parts for turn in held]:
        yield "form of turns"
    if calls(turns) != calls(held):
        yield "tool calls, or their ids"
    if media(turns) != media(held):
        yield "images"
    checks: tuple[tuple[str, Callable[[Turn], Any]], ...] = (
        ("rewards of turns", lambda turn: turn.reward), ("metrics of turns", lambda turn: turn.metrics),
        ("logs of turns", lambda turn: turn.logs), ("tokens of turns", lambda turn: turn.tokens),
        ("names in turns", lambda turn: (turn.name, turn.tool_call_id)),
        ("stop reasons of turns", lambda turn: turn.stop_reason),
        ("where the response begins among the turns", lambda turn: turn.origin),
        ("which tokens a turn is made of", lambda turn: (turn.token_start, turn.token_stop)),
    )  # fmt: skip
    for word, look in checks:
        if _differ(list(map(look, turns)), list(map(look, held))):
            yield word


def _filled(turns: list[Turn], than: int) -> list[Turn]:
    """Return turns without an empty last turn that the other side lacks: an empty response may be one turn or none."""
    last = turns[-1] if turns else None
    nothing = last is not None and last == Turn(role=last.role, parts=[], origin=last.origin)
    return turns[:-1] if nothing and len(turns) == than + 1 else turns


def _differ(mine: list[Any], its: list[Any]) -> bool:
    """Return whether attributes of turns differ. Turns that only one side has count only if they have a value."""
    shorter = min(len(mine), len(its))
    beyond = [fact for fact in (*mine[shorter:], *its[shorter:]) if fact not in NOTHING]
    return bool(beyond) or not same(mine[:shorter], its[:shorter])


def _of_fields(sample: Sample, held: Sample) -> Iterator[str]:
    """Compare sample metrics, tags and other fields."""
    for word, mine, its in (
        ("sample metric", sample.row.metrics, held.row.metrics),
        ("tag", sample.row.tags, held.row.tags),
        ("field", sample.extra, held.extra),
    ):
        for name, value in mine.items():
            if name not in its or not same(value, its[name]):
                yield f"{word} {name}{FIELD if is_kept(name, value, held) else ''}"
    for name in held.row.tags.keys() - sample.row.tags.keys():
        if not is_kept(name, held.row.tags[name], sample):
            yield f"tag {name}{ADDED}"


def _of_series(sample: Sample, held: Sample, names: Mapping[str, str], start: int) -> Iterator[str]:
    for one in sample.series:
        yield from _of_one(sample, held, one.name, names, start)


def _of_one(sample: Sample, held: Sample, name: str, names: Mapping[str, str], start: int) -> Iterator[str]:
    """Compare one series: its values as shown, and the further values in the files."""
    one = next(one for one in sample.series if one.name == name)
    its = next((its for its in held.series if its.name == names.get(name, name)), None)
    there = TokenSeries(name=name, values=[]) if its is None else moved(its, start)
    size = max(one.offset + len(one.values), there.offset + len(there.values))
    shown, now_shown = spread(one, size), spread(there, size)
    whole, now_whole = spread(stored(one), size), spread(stored(there), size)
    gone = (~np.isnan(shown) & ~_close(shown, now_shown)) | (np.isnan(shown) & ~np.isnan(now_shown))
    hidden = ~np.isnan(whole) & ~_close(whole, now_whole)
    if gone.any() or hidden.any():
        yield f"token series {name}{_where(sample, gone)}"
    elif not np.array_equal(whole[~np.isnan(whole)], now_whole[~np.isnan(whole)]):
        yield DIGITS


def _where(sample: Sample, gone: Any) -> str:
    """Return where the shown values of a series differ; empty if only inside the sampled tokens."""
    mask = next((one for one in sample.series if one.name == "loss_mask"), None)
    size = len(gone)
    prompt = sample.row.prompt_tokens if sample.token_ids and mask is None else None
    sampled = np.arange(size) >= (prompt or 0) if mask is None else spread(mask, size) == 1
    if not (gone & sampled).any():
        return OUTSIDE
    return AT_FIRST if size > 1 and not gone[1:].any() else ""


def stored(one: TokenSeries) -> TokenSeries:
    """Return a series with all values of its file, those never shown included."""
    return one if one.stored is None else TokenSeries(name=one.name, values=[*one.stored], offset=one.offset)


def moved(one: TokenSeries, start: int) -> TokenSeries:
    """Return a series with the same values that begins `start` tokens later."""
    return TokenSeries(name=one.name, values=one.values, offset=one.offset + start, stored=one.stored)


def _close(mine: Any, its: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return (mine == its) | (np.abs(mine - its) <= CLOSE * np.maximum(np.abs(mine), np.abs(its)))


def same(mine: Any, its: Any) -> bool:
    """Return whether two values are the same; NaN equals NaN."""
    if isinstance(mine, list | tuple) and isinstance(its, list | tuple):
        return mine == its or (len(mine) == len(its) and all(map(same, mine, its)))
    if isinstance(mine, dict) and isinstance(its, dict):
        return mine == its or (mine.keys() == its.keys() and all(same(mine[key], its[key]) for key in mine))
    if isinstance(mine, float) and isinstance(its, float) and math.isnan(mine):
        return math.isnan(its)
    return bool(mine == its)
