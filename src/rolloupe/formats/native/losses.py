"""Data that a recorder reports as never written: samples on a full disk, values refused, series without room."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.trainer_files import lines_of, records
from rolloupe.model import Location, Problem, Source
from rolloupe.storage import path_state, stamp_of_state

DROPPED = "recorder/token_series_dropped"
"""A trainer metric: the number of series that a process has dropped since its start."""

MOST_LISTED = 50
"""How many steps and reasons a file's losses are listed by; all others are counted."""

MOST_KEPT = 10_000
MOST_CHARS = 500

ELSEWHERE = ("", None, "")
"""Where losses beyond `MOST_KEPT` count."""

Place = tuple[str, int | None, str]
"""What was lost, the step, and the reason."""

ONE = {
    "samples": "sample", "annotations": "annotation", "lines of metrics": "line of metrics", "groups": "group",
    "values": "value", "lists of samples": "list of samples", "calls": "call",
}  # fmt: skip


def dropped(source: Source) -> list[Problem]:
    """Return the token series that the producer of a metrics file dropped."""
    try:
        count = _dropped(source.location, *stamp_of_state(path_state(source.path)))
    except OSError:
        return []
    reason = f"{count:,} token series were not written, for the recorder had no room: their samples say which"
    return [Problem(source=source.name, reason=reason, transient=True)] if count else []


def lost(source: Source) -> list[Problem]:
    """Return what a producer's file of losses says, by step and reason."""
    try:
        reasons = _lost(source.location, *stamp_of_state(path_state(source.path)))
    except OSError:
        return []
    return [Problem(source=source.name, reason=reason, transient=True) for reason in reasons]


@lru_cache(maxsize=1000)
def _lost(location: Location, _inode: int, _size: int, _changed_ns: int) -> tuple[str, ...]:
    counts: Counter[Place] = Counter()
    for row in records(location):
        place = (
            fields.as_text(row.get("what"))[:MOST_CHARS] or "lines", fields.integer(row.get("step")),
            fields.as_text(row.get("reason"))[:MOST_CHARS],
        )  # fmt: skip
        counts[place if place in counts or len(counts) < MOST_KEPT else ELSEWHERE] += (
            fields.count(row.get("count")) or 0
        )
    more = counts.pop(ELSEWHERE, 0)
    ordered = sorted(counts.items(), key=lambda item: (item[0][1] is None, item[0][1] or 0, item[0]))
    more += sum(count for _, count in ordered[MOST_LISTED:])
    return (*_described(ordered[:MOST_LISTED]), *([f"{more:,} more were lost at other steps"] if more else []))


def _described(losses: list[tuple[Place, int]]) -> Iterator[str]:
    for (what, step, reason), count in losses:
        were = f"1 {ONE.get(what, what)}" if count == 1 else f"{count:,} {what}"
        of_step = "" if step is None else f" of step {step}"
        verb = "left out" if what == "values" else "lost"
        yield f"{were}{of_step} {'was' if count == 1 else 'were'} {verb}: {reason or 'no reason is given'}"


@lru_cache(maxsize=1000)
def _dropped(location: Location, _inode: int, _size: int, _changed_ns: int) -> int:
    """Sum the losses of all processes: a falling count marks a new process."""
    total = last = 0
    for line in lines_of(location):
        if DROPPED.encode() in line:
            count = _count(line) or last
            total, last = total + (last if count < last else 0), count
    return total + last


def _count(line: bytes) -> int | None:
    try:
        values = parse(line).get("values")
    except Unusable:
        return None
    return fields.count(values.get(DROPPED)) if isinstance(values, dict) else None
