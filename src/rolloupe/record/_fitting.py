"""What of a sample a layout holds, found out by reading what was written: never from a list that might be wrong.

A writer makes a record, has it read as its format would read it, and says what is no longer there.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rolloupe import tokens
from rolloupe.model import Locator, Part, Sample, SampleRow, Source, TokenSeries, Turn

if TYPE_CHECKING:
    from rolloupe.formats._jsonl import JsonlFormat

MAX_WORDS = 400
"""Words that are counted each by itself; hostile records could have any number of keys."""

MAX_WORD_CHARS = 80
THE_REST = "further fields"
MASK = "loss_mask"
OUTSIDE = " outside of what was sampled"
AT_FIRST = " at the first token"
CLOSE = 1e-6
"""Numbers that a trainer holds as float32 may come back changed by so much."""


class Tally:
    """Counts of how many samples something was left out. `samples` are those that were left out whole."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()

    def add(self, words: Iterable[str]) -> None:
        """Count what one sample lost."""
        for word in dict.fromkeys(words):
            short = word[:MAX_WORD_CHARS]
            self.found[short if short in self.found or len(self.found) < MAX_WORDS else THE_REST] += 1

    def add_whole(self, word: str) -> None:
        """Count a sample that was left out."""
        self.found[word] += 1


def read_back(
    reader: "JsonlFormat", record: Mapping[str, Any], file: str, split: str | None, step: int, *, nan: bool = False
) -> Sample | None:
    """Return the sample that a format makes of a record; None where it makes none."""
    from rolloupe.formats._jsonl import Unusable, parse
    from rolloupe.record.encoding import encoded

    source = Source(path=f"/{file}", name=file, split=split, step=step)
    try:
        read = parse(encoded(record, nan=nan).removesuffix(b"\n"))
        row = reader.row(source, read, 0, 1)
        return reader.sample(read, row, Locator(source=file, start=0, length=1))
    except Unusable:
        return None


def lost(sample: Sample, held: Sample | None, series: Mapping[str, TokenSeries] | None = None) -> Iterator[str]:
    """Yield a word for each thing that a sample has, and what was read back has not.

    `series`: what became of series that a layout holds in another form, by their names in the sample.
    """
    if held is None:
        yield "samples that the reader of the layout would refuse"
        return
    row, found = sample.row, held.row
    if not _same(row.reward, found.reward):
        yield "reward" if row.reward is None or math.isfinite(row.reward) else "reward that is not finite"
    for word, mine, its in (
        ("split", row.split, found.split), ("step", row.step, found.step), ("group", row.group, found.group),
        ("status", row.status, found.status), ("number of turns", row.turns, found.turns),
        ("tokens of the prompt", row.prompt_tokens, found.prompt_tokens),
        ("tokens of the response", row.response_tokens, found.response_tokens),
        ("tokens in all", row.total_tokens, found.total_tokens),
        ("ground truth", sample.label, held.label), ("reward of the reference", sample.ref_reward, held.ref_reward),
        ("token strings", sample.tokens, held.tokens), ("token ids", sample.token_ids, held.token_ids),
    ):  # fmt: skip
        if mine not in (None, "", "unknown", []) and not _same(mine, its):
            yield word
    for name, mine, its in named(row, found):
        is_kept = name != "discarded" and _is_kept(name, mine, held)  # a mere field does not make it one
        if mine not in (None, "") and not _same(mine, its) and not is_kept:
            yield name
    if row.index != found.index and not _is_place(row):
        yield "sample number"
    for origin, mine, its in (
        ("prompt", sample.prompt_text, held.prompt_text), ("response", sample.response_text, held.response_text)
    ):  # fmt: skip
        if mine != its and said(_of(sample.turns, origin)) != said(_of(held.turns, origin)):
            yield f"text of the {origin}"
    yield from _lost_turns(sample.turns, held.turns)
    if said(sample.ref_turns) != said(held.ref_turns):
        yield "response of the reference"
    yield from _lost_fields(sample, held, series or {})


def own_status(row: SampleRow) -> str:
    """The framework's own word for the status, where every format reads it as the same; else nothing."""
    from rolloupe.formats import _fields as fields

    return row.status_raw if fields.status(row.status_raw)[0] == row.status else ""


def named(row: SampleRow, other: SampleRow) -> tuple[tuple[str, Any, Any], ...]:
    """What of a row a layout may keep as a field of this name, where it has no place for it; of two rows."""
    return (
        ("env", row.env, other.env), ("advantage", row.advantage, other.advantage), ("uid", row.uid, other.uid),
        ("trace_id", row.trace_id, other.trace_id), ("discarded", row.discarded, other.discarded),
    )  # fmt: skip


def extended(record: dict[str, Any], sample: Sample, held: Sample | None, taken: Collection[str]) -> dict[str, Any]:
    """Return a record with what is not held of a sample as further keys, none of them `taken`."""
    if held is None:
        return record
    row = sample.row
    free: dict[str, Any] = {name: mine for name, mine, its in named(row, held.row) if mine not in (None, "", its)}
    free |= {**sample.extra, **row.tags, **row.metrics}
    return record | {
        name: value
        for name, value in free.items()
        if name not in record and name not in taken and not _is_kept(name, value, held)
    }


def _is_kept(name: str, value: Any, held: Sample) -> bool:
    places: tuple[Mapping[str, Any], ...] = (held.row.metrics, held.row.tags, held.extra)
    return any(name in place and _same(value, place[name]) for place in places)


def _is_place(row: SampleRow) -> bool:
    """True where a sample is numbered by its place in the file, for the lack of any other number."""
    return row.index == str(row.start) or row.index.endswith(f":{row.start}")


def _of(turns: list[Turn], origin: str) -> list[Turn]:
    return [turn for turn in turns if turn.origin == origin]


def _lost_turns(turns: list[Turn], held: list[Turn]) -> Iterator[str]:
    if turns and [turn.role for turn in turns] != [turn.role for turn in held]:
        yield "turns and their roles"
    elif said(turns) != said(held):
        yield "parts of turns"
    kept = {id(turn): other for turn, other in zip(turns, held, strict=False)}
    checks: tuple[tuple[str, Callable[[Turn], Any]], ...] = (
        ("rewards of turns", lambda turn: turn.reward), ("metrics of turns", lambda turn: turn.metrics),
        ("logs of turns", lambda turn: turn.logs), ("tokens of turns", lambda turn: turn.tokens),
        ("names in turns", lambda turn: turn.name or turn.tool_call_id),
        ("stop reasons of turns", lambda turn: turn.stop_reason),
    )  # fmt: skip
    for word, look in checks:
        if any(look(turn) and not (id(turn) in kept and _same(look(turn), look(kept[id(turn)]))) for turn in turns):
            yield word


def _lost_fields(sample: Sample, held: Sample, other: Mapping[str, TokenSeries]) -> Iterator[str]:
    """Sample metrics, tags, series and other fields; one that is kept under its name at another place is not lost."""
    for word, own in (("sample metric", sample.row.metrics), ("tag", sample.row.tags), ("field", sample.extra)):
        yield from (f"{word} {name}" for name, value in own.items() if not _is_kept(name, value, held))
    series = {one.name: one for one in held.series}
    mask = series.get(MASK) or next((one for one in sample.series if one.name == MASK), None)
    for one in sample.series:
        mine = other.get(one.name, one)
        if (where := _gone(one, mine, series.get(mine.name), mask)) is not None:
            yield f"token series {one.name}{where}"


def _gone(one: TokenSeries, mine: TokenSeries, its: TokenSeries | None, mask: TokenSeries | None) -> str | None:
    """Tell where a series has values that are not held, empty for within what was sampled; None where it has none.

    `one` is the series of the sample, `mine` what became of it, `its` what was read back. Lists may begin at another
    token: values are compared by the token that they are of.
    """
    size = max(found.offset + len(found.values) for found in (mine, its, mask) if found is not None)
    here, there, flags = (_placed(found, size) for found in (mine, its, mask))
    with np.errstate(invalid="ignore", over="ignore"):
        close = (here == there) | (np.abs(here - there) <= CLOSE * np.maximum(np.abs(here), np.abs(there)))
    gone = ~np.isnan(here) & ~close
    if gone.any():
        if mask is not None and not (gone & (flags == 1)).any():
            return OUTSIDE
        return AT_FIRST if not gone[1:].any() and size > 1 else ""
    return OUTSIDE if _there(mine) < _there(one) else None


def _there(series: TokenSeries) -> int:
    """How many values it has that are not absent."""
    return int(np.count_nonzero(~np.isnan(series.values)))


def _placed(series: TokenSeries | None, size: int) -> tokens.Floats:
    """The values at their places among so many tokens, NaN where there are none, shape (size,)."""
    found = np.full(size, np.nan)
    if series is not None:
        found[series.offset : series.offset + len(series.values)] = series.values
    return found


def said(turns: list[Turn]) -> list[tuple[str, str]]:
    """What a person reads of turns: kind and text of their parts, template markers and blank ends aside."""
    found = []
    for turn in turns:
        for kind, text in _joined(turn.parts):
            if stripped := text.strip():
                found.append((kind, stripped))
    return found


def _joined(parts: list[Part]) -> Iterator[tuple[str, str]]:
    """Parts without markers, neighbouring texts as one."""
    text = ""
    for part in parts:
        if part.kind == "text":
            text += part.text
        elif part.kind != "marker":
            yield "text", text
            text = ""
            yield part.kind, _call(part)
    yield "text", text


def _call(part: Part) -> str:
    return f"{part.call.name} {_canonical(part.call.arguments)}" if part.call else part.text


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _same(mine: Any, its: Any) -> bool:
    """Tell whether two values are the same: NaN is NaN, and what a float32 cannot tell apart is equal."""
    if isinstance(mine, list) and isinstance(its, list):
        return mine == its or (len(mine) == len(its) and all(map(_same, mine, its)))
    if isinstance(mine, dict) and isinstance(its, dict):
        return mine == its or (mine.keys() == its.keys() and all(_same(mine[key], its[key]) for key in mine))
    if isinstance(mine, float) and isinstance(its, int | float):
        return mine == its or (math.isnan(mine) and math.isnan(its)) or math.isclose(mine, its, rel_tol=CLOSE)
    return bool(mine == its)
