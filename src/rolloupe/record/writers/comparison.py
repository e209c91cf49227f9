"""Compares a sample with its copy, read back from a written layout, and adds missing values under extra keys.

The comparison is strict: it also names values that come back under another name, in another form or with fewer digits.
It finds the gaps of a layout; no list of gaps, which might be wrong, is kept.

Every writer cuts arrays and token strings by one rule: positions count from the first of `token_ids`; a series begins
at its `offset`; the token strings, those of the response, end at the last token. Gaps stay gaps.
"""

import contextlib
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from rolloupe import tokens
from rolloupe.model import Locator, Sample, SampleRow, Source, TokenSeries, ToolCall, Turn

if TYPE_CHECKING:
    from rolloupe.formats.reading.jsonl import JsonlFormat


def number_in(name: str, most_digits: int = 15) -> int | None:
    """Return the whole number of a name like `12`; None for any other name, such as `012`."""
    is_number = name.isascii() and name.isdecimal() and len(name) <= most_digits and str(int(name)) == name
    return int(name) if is_number else None


def free_number(wanted: int | None, used: set[int]) -> int:
    """Return the wanted number if it is free, else the next free one; adds it to `used`."""
    number = wanted
    if number is None or number in used:
        number = next(free for free in range(len(used), 2 * len(used) + 1) if free not in used)
    used.add(number)
    return number


def spread(series: TokenSeries, size: int, start: int = 0) -> tokens.Floats:
    """Return the values of the tokens `start` to `start + size`, NaN for missing ones, shape (size,)."""
    values = np.full(size, np.nan)
    first, last = max(series.offset, start), min(series.offset + len(series.values), start + size)
    if first < last:
        values[first - start : last - start] = series.values[first - series.offset : last - series.offset]
    return values


def response_of(sample: Sample) -> range:
    """Return the extent of the response: its token strings, else the tokens after the prompt, else all tokens."""
    row = sample.row
    size = len(sample.token_ids) or max((series.offset + len(series.values) for series in sample.series), default=0)
    if sample.token_strings:
        start = max(0, size - len(sample.token_strings))
        return range(start, start + len(sample.token_strings))
    if sample.token_ids and row.prompt_tokens is not None:
        return range(min(row.prompt_tokens, size), size)
    mask = _sampled(sample, size)
    if mask is not None and mask.any():
        return range(int(mask.argmax()), size)
    if sample.token_ids and row.response_tokens is not None:
        return range(max(0, size - row.response_tokens), size)
    return range(size)


def _sampled(sample: Sample, size: int) -> tokens.Flags | None:
    """Return which tokens the loss mask counts, shape (size,); None without a mask."""
    mask = next((series for series in sample.series if series.name == "loss_mask"), None)
    return None if mask is None else spread(mask, size) == 1


def content(turns: list[Turn]) -> list[tuple[str, str]]:
    """Return kind and text of the parts of turns, without template markers and blank ends."""
    contents: list[tuple[str, str]] = []
    for turn in turns:
        text = ""
        for part in turn.parts:
            if part.kind == "text":
                text += part.text  # neighbouring texts are one
            elif part.kind != "marker":
                contents += [("text", text), (part.kind, _call(part.call) if part.call else part.text)]
                text = ""
        contents.append(("text", text))
    return [(kind, stripped) for kind, text in contents if (stripped := text.strip())]


def calls(turns: list[Turn]) -> list[ToolCall]:
    """Return the tool calls of turns."""
    return [part.call for turn in turns for part in turn.parts if part.call is not None]


def of_origin(turns: list[Turn], origin: str) -> list[Turn]:
    """Return the turns of the prompt, or of the response."""
    return [turn for turn in turns if turn.origin == origin]


def _call(call: ToolCall) -> str:
    arguments = call.arguments
    with contextlib.suppress(ValueError, RecursionError):
        arguments = json.dumps(json.loads(arguments), sort_keys=True)
    return f"{call.name} {arguments}"


OUTSIDE = " outside the sampled tokens"
AT_FIRST = " at the first token"
FIELD = " (kept as a further field)"
ADDED = " (added)"
DIGITS = "digits of token series beyond float32"
CLOSE = 1e-6
"""Relative tolerance for numbers that a trainer holds as float32."""

NOTHING: tuple[object, ...] = (None, "", {}, ("", ""), (None, None), "prompt", "response")
"""Attributes of a turn that need no comparison if the turn itself is missing."""

ABSENT: tuple[object, ...] = (None, "", "unknown", [], {})


def lost(sample: Sample, copy: Sample | None, names: Mapping[str, str] | None = None, start: int = 0) -> Iterator[str]:
    """Yield a name for each difference between a sample and its copy read back.

    `names`: the layout's own names of series. `start`: the position, in the sample, of the copy's first token.
    """
    if copy is None:
        yield "samples that the reader of this layout rejects"
        return
    row, copied = sample.row, copy.row
    if not same(row.reward, copied.reward):
        yield "reward" if row.reward is None or math.isfinite(row.reward) else "non-finite reward"
    values: tuple[tuple[str, Any, Any], ...] = (
        ("split", row.split, copied.split), ("step", row.step, copied.step), ("group", row.group, copied.group),
        ("status", row.status, copied.status), ("original word for the status", row.status_raw, copied.status_raw),
        ("number of turns", row.turns, copied.turns),
        ("tokens of the prompt", row.prompt_tokens, copied.prompt_tokens),
        ("tokens of the response", row.response_tokens, copied.response_tokens),
        ("total tokens", row.total_tokens, copied.total_tokens),
        ("ground truth", sample.label, copy.label), ("reward of the reference", sample.ref_reward, copy.ref_reward),
        ("token strings", sample.token_strings, copy.token_strings), ("token ids", sample.token_ids, copy.token_ids),
        ("alternatives of tokens", sample.top_logprobs, copy.top_logprobs),
    )  # fmt: skip
    for name, before, after in values:
        if not same(before, after):
            yield name if before not in ABSENT else f"{name}{ADDED}"
    for name, before, after in named(row, copied):
        if not same(before, after):
            yield f"{name}{ADDED}" if before in ABSENT else f"{name}{FIELD}" if is_kept(name, before, copy) else name
    if row.index != copied.index and row.index != str(row.start) and not row.index.endswith(f":{row.start}"):
        yield "sample number"  # unless the sample has no other than its place in the file
    yield from _of_texts(sample, copy)
    yield from _of_turns(sample.turns, copy.turns)
    reference, copied_reference = (
        [(turn.role, turn.parts, turn.name, turn.tool_call_id) for turn in turns]
        for turns in (sample.ref_turns, copy.ref_turns)
    )
    if reference != copied_reference:
        is_form = content(sample.ref_turns) == content(copy.ref_turns)
        yield "form of the reference" if is_form else "response of the reference"
    yield from _of_fields(sample, copy)
    yield from _of_series(sample, copy, names or {}, start)


def named(row: SampleRow, other: SampleRow) -> tuple[tuple[str, Any, Any], ...]:
    """Return the values of two rows that a layout may keep as a field of this name."""
    return (
        ("env", row.env, other.env), ("advantage", row.advantage, other.advantage), ("uid", row.uid, other.uid),
        ("trace_id", row.trace_id, other.trace_id), ("discarded", row.discarded, other.discarded),
    )  # fmt: skip


def is_kept(name: str, value: Any, copy: Sample) -> bool:
    """Return whether a value is kept under its name among metrics, tags or extra fields."""
    places: tuple[Mapping[str, Any], ...] = (copy.row.metrics, copy.row.tags, copy.extra)
    return any(name in place and same(value, place[name]) for place in places)


def _of_texts(sample: Sample, copy: Sample) -> Iterator[str]:
    """Compare prompt and response: their text, and whether they are texts or lists of messages."""
    for origin, before, after, was, now in (
        ("prompt", sample.prompt_text, copy.prompt_text, sample.prompt_messages, copy.prompt_messages),
        ("response", sample.response_text, copy.response_text, sample.response_messages, copy.response_messages),
    ):
        if before != after:
            is_form = content(of_origin(sample.turns, origin)) == content(of_origin(copy.turns, origin))
            yield f"form of the text of the {origin}" if is_form else f"text of the {origin}"
        if was is not None and now is None:
            yield f"list of messages of the {origin}"
        elif was is not None and now is not None and not same(was, now):
            yield f"form of the messages of the {origin}"
        elif was is None and now is not None:
            yield f"form of the {origin} (now a list of messages)"


def _of_turns(turns: list[Turn], copy: list[Turn]) -> Iterator[str]:
    turns, copy = _filled(turns, len(copy)), _filled(copy, len(turns))
    if [turn.role for turn in turns] != [turn.role for turn in copy]:
        yield "turns and their roles"
    elif content(turns) != content(copy):
        yield "parts of turns"
    elif [turn.parts for turn in turns] != [turn.parts for turn in copy]:
        yield "form of turns"
    if calls(turns) != calls(copy):
        yield "tool calls, or their ids"
    images, copied_images = ([part.media for turn in of for part in turn.parts if part.media] for of in (turns, copy))
    if images != copied_images:
        yield "images"
    checks: tuple[tuple[str, Callable[[Turn], Any]], ...] = (
        ("rewards of turns", lambda turn: turn.reward), ("metrics of turns", lambda turn: turn.metrics),
        ("logs of turns", lambda turn: turn.logs), ("tokens of turns", lambda turn: turn.tokens),
        ("names in turns", lambda turn: (turn.name, turn.tool_call_id)),
        ("stop reasons of turns", lambda turn: turn.stop_reason),
        ("first turn of the response", lambda turn: turn.origin),
        ("token ranges of turns", lambda turn: (turn.token_start, turn.token_stop)),
    )  # fmt: skip
    both = min(len(turns), len(copy))
    for word, read in checks:
        before, after = list(map(read, turns)), list(map(read, copy))
        # turns that only one side has count only if they have a value
        further = [value for value in (*before[both:], *after[both:]) if value not in NOTHING]
        if further or not same(before[:both], after[:both]):
            yield word


def _filled(turns: list[Turn], than: int) -> list[Turn]:
    """Return turns without an empty last turn that the other side lacks: an empty response may be one turn or none."""
    is_longer = len(turns) == than + 1
    return (
        turns[:-1] if is_longer and turns[-1] == Turn(role=turns[-1].role, parts=[], origin=turns[-1].origin) else turns
    )


def _of_fields(sample: Sample, copy: Sample) -> Iterator[str]:
    metrics = ("sample metric", sample.row.metrics, copy.row.metrics)
    tags = ("tag", sample.row.tags, copy.row.tags)
    for word, before, after in (metrics, tags, ("field", sample.extra, copy.extra)):
        for name, value in before.items():
            if name not in after or not same(value, after[name]):
                yield f"{word} {name}{FIELD if is_kept(name, value, copy) else ''}"
    for word, before, after in (metrics, tags):
        for name in sorted(after.keys() - before.keys()):
            if not is_kept(name, after[name], sample):
                yield f"{word} {name}{ADDED}"


def _of_series(sample: Sample, copy: Sample, names: Mapping[str, str], start: int) -> Iterator[str]:
    """Compare each series: its values as shown, and the values that only the files hold."""
    copies = {series.name: replace(series, offset=series.offset + start) for series in reversed(copy.series)}
    for series in sample.series:
        after = copies.get(names.get(series.name, series.name)) or TokenSeries(name=series.name, values=[])
        size = max(series.offset + len(series.values), after.offset + len(after.values))
        shown, now_shown = spread(series, size), spread(after, size)
        whole, now_whole = spread(stored(series), size), spread(stored(after), size)
        differs = (~np.isnan(shown) & ~_close(shown, now_shown)) | (np.isnan(shown) & ~np.isnan(now_shown))
        hidden = ~np.isnan(whole) & ~_close(whole, now_whole)
        if differs.any() or hidden.any():
            yield f"token series {series.name}{_where(sample, differs)}"
        elif not np.array_equal(whole[~np.isnan(whole)], now_whole[~np.isnan(whole)]):
            yield DIGITS


def _where(sample: Sample, differs: Any) -> str:
    """Return where the shown values of a series differ; empty if only inside the sampled tokens."""
    size = len(differs)
    sampled = _sampled(sample, size)
    if sampled is None:
        sampled = np.arange(size) >= ((sample.row.prompt_tokens or 0) if sample.token_ids else 0)
    if not (differs & sampled).any():
        return OUTSIDE
    return AT_FIRST if size > 1 and not differs[1:].any() else ""


def stored(series: TokenSeries) -> TokenSeries:
    """Return a series with all values of its file, including those never shown."""
    if series.stored is None:
        return series
    return TokenSeries(name=series.name, values=[*series.stored], offset=series.offset)


def _close(before: Any, after: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return (before == after) | (np.abs(before - after) <= CLOSE * np.maximum(np.abs(before), np.abs(after)))


def same(before: Any, after: Any) -> bool:
    """Return whether two values are the same; NaN equals NaN."""
    if before == after:
        return True
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(same(before[key], after[key]) for key in before)
    return isinstance(before, float) and isinstance(after, float) and math.isnan(before) and math.isnan(after)


MAX_WORDS = 400
"""How many names are counted separately: hostile records could have any number of keys."""

MAX_WORD_CHARS = 80
THE_REST = "further fields"
JOINED = "group (joined with another)"


class Tally:
    """Counts the samples that lost a value, by the name of the value."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._groups: dict[str, str] = {}

    def compare(
        self, sample: Sample, copy: Sample | None, names: Mapping[str, str] | None = None, start: int = 0
    ) -> None:
        """Count the differences between a sample and its copy; takes the arguments of `lost`."""
        words = list(lost(sample, copy, names, start))
        if copy is not None and self._groups.setdefault(copy.row.group, sample.row.group) != sample.row.group:
            words.append(JOINED)
        for word in dict.fromkeys(words):
            short = word[:MAX_WORD_CHARS]
            self.found[short if short in self.found or len(self.found) < MAX_WORDS else THE_REST] += 1


def read_back(
    reader: "JsonlFormat", record: Mapping[str, Any], file: str, split: str | None, step: int, *, nan: bool = False
) -> Sample | None:
    """Return the sample that a format reads from a record; None if it reads none."""
    from rolloupe.formats.reading.line_reader import parse
    from rolloupe.formats.reading.records import Unusable
    from rolloupe.record.lines import encoded

    source = Source(path=f"/{file}", name=file, split=split, step=step)
    try:
        read = parse(encoded(record, nan=nan).removesuffix(b"\n"))
        row = reader.row(source, read, 0, 1)
        return reader.sample(read, row, Locator(source=file, start=0, length=1))
    except Unusable:
        return None


def own_status(row: SampleRow) -> str:
    """Return the framework's own word for the status if every format reads it as this status; else an empty text."""
    from rolloupe.formats.reading import value_parsers as parsers

    return row.status_raw if parsers.status(row.status_raw)[0] == row.status else ""


def extended(record: dict[str, Any], sample: Sample, copy: Sample | None, reserved: Collection[str]) -> dict[str, Any]:
    """Return a record with the sample's missing values under extra keys, none of them in `reserved`."""
    if copy is None:
        return record
    row, taken = sample.row, {*record, *reserved}
    free = {name: value for name, value, copied in named(row, copy.row) if value not in (None, "", copied)}
    free |= {**sample.extra, **row.tags, **row.metrics}
    return record | {
        name: value for name, value in free.items() if name not in taken and not is_kept(name, value, copy)
    }
