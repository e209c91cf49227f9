"""The files of a recorded run beside its samples: annotations, metrics of steps, reports of data never written.

Annotations are lines of `annotations/`, joined by uid. The index supplies their places. Without it, or if a file no
longer holds what the index recorded, files are searched.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.errors import SourceChanged
from rolloupe.formats.reading import fields, line_search
from rolloupe.formats.reading.files import files, links_of, while_unchanged
from rolloupe.formats.reading.line_reader import parse, strip_bom
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.trainer_files import (
    MergedMetrics,
    MetricLines,
    lines_of,
    lines_so_far,
    records,
)
from rolloupe.model import Annotation, Location, Locator, MetricRow, Problem, RunInfo, SampleRow, Source

FOLDER = "annotations"
MAX_PLACES = 1000
"""Number of lines about one sample to read, the newest."""

Raw = Callable[[Source, Locator], bytes]

DROPPED = "recorder/token_series_dropped"
"""A trainer metric: the number of series that a process has dropped since its start."""

MOST_LISTED = 50
"""The most steps and reasons listed for a file of losses; the rest is counted."""

MOST_KEPT = 10_000
MOST_CHARS = 500

ELSEWHERE = ("", None, "")
"""The key under which losses beyond `MOST_KEPT` are counted."""

Place = tuple[str, int | None, str]
"""The kind of a loss, its step, and the reason."""

ONE = {
    "samples": "sample", "annotations": "annotation", "lines of metrics": "line of metrics", "groups": "group",
    "values": "value", "lists of samples": "list of samples", "calls": "call",
}  # fmt: skip


class AnnotationLine(NamedTuple):
    """A line of annotations: its file, named relative to the run, and its content."""

    source: str
    record: Record


def annotations_of(
    run: RunInfo, uid: str, places: Sequence[Locator] | None, raw: Raw
) -> tuple[list[AnnotationLine], list[str]]:
    """Return the lines about a sample, oldest first, and the problems of unreadable lines.

    `places` are their places, oldest first; None if unknown. `raw` reads the bytes at a place.
    """
    entries = files(os.path.join(run.root, FOLDER), links_of(run)) if uid and places != [] else []
    entries.sort(key=lambda entry: text.natural(entry.name))
    locations = {f"{FOLDER}/{entry.name}": entry.location for entry in entries}
    if places is None:
        return _searched(locations, uid)
    lines: list[AnnotationLine] = []
    notes = [f"annotations: of very many the last {MAX_PLACES} count"] if len(places) > MAX_PLACES else []
    for name, file_places in groupby(places[-MAX_PLACES:], key=lambda place: place.source):
        where = locations.get(name)
        found = (
            []
            if where is None
            else _at(Source(path=where.path, name=name, root=where.root), list(file_places), uid, raw)
        )
        if found is None:
            found, more = _searched({name: locations[name]}, uid)
            notes += more
        lines += found
    return lines, notes


def _searched(locations: dict[str, Location], uid: str) -> tuple[list[AnnotationLine], list[str]]:
    lines: list[AnnotationLine] = []
    notes: list[str] = []
    for name, where in locations.items():
        found, problems = line_search.records_about(where, "uid", uid)
        lines += [AnnotationLine(name, record) for record in found]
        notes += problems
    return lines, notes


def _at(source: Source, places: list[Locator], uid: str, raw: Raw) -> list[AnnotationLine] | None:
    """The lines at some places of a file; None if one of them is no longer about the sample."""
    found = []
    for place in places:
        try:
            record = parse(strip_bom(raw(source, place), place.start))
        except (SourceChanged, Unusable):
            return None
        if fields.name(record.get("uid")) != uid:
            return None
        found.append(AnnotationLine(source.name, record))
    return found


def fold(row: SampleRow, annotation: Annotation) -> None:
    """Let annotations override the values of a sample."""
    row.advantage = row.advantage if annotation.advantage is None else annotation.advantage
    row.discarded = row.discarded if annotation.discarded is None else annotation.discarded
    row.metrics = row.metrics | annotation.metrics
    row.tags = row.tags | annotation.tags


class _ProducerLines(MetricLines):
    """The file of a producer: values of steps, and sums over its samples of a step."""

    def take(self, record: Record) -> None:
        """Take a line. If several lines have sums for one step, as when a step ran again, the last counts."""
        step, sums = record.get("step"), record.get("sums")
        super().take({**_named(record.get("values")), "step": step, "time": record.get("time")})
        if isinstance(sums, dict):
            self.apart.pop(fields.integer(step), None)
            self.apart[fields.integer(step)] = {"step": step, "sums": sums}


def metrics_in(locations: Iterable[Location]) -> list[MetricRow]:
    """Return the metrics of all producers, merged by step: a value of a line wins over a mean of sums."""
    found = [lines_so_far(location, _ProducerLines) for location in locations]
    merged = MergedMetrics()
    for row in _summed(row for producer in found for row in producer.apart):
        merged.add(row)
    for producer in found:
        merged.join(producer.rows)
    return merged.rows()


def _named(values: object) -> dict[str, Any]:
    """Metrics of a line, renamed where they would clash with the line's own names."""
    named = values.items() if isinstance(values, dict) else ()
    return {f"metric.{name}" if name in ("step", "time") else name: value for name, value in named}


def _summed(rows: Iterable[Record]) -> list[Record]:
    """Means over all producers, from their sums and counts; a sum with count 0 is a total."""
    totals: dict[tuple[int | None, str], list[float]] = {}
    for row in rows:
        step, sums = fields.integer(row.get("step")), row.get("sums")
        for name, pair in fields.as_dict(sums).items():
            numbers = [fields.number(value) for value in pair] if isinstance(pair, list) else []
            if len(numbers) == 2 and numbers[0] is not None and numbers[1] is not None:
                sum_and_count = totals.setdefault((step, name), [0.0, 0.0])
                sum_and_count[0] += numbers[0]
                sum_and_count[1] += numbers[1]
    means: dict[int | None, Record] = {}
    for (step, name), (total, count) in totals.items():
        means.setdefault(step, {})[name] = total / count if count else total
    return [{**_named(values), "step": step} for step, values in means.items()]


def dropped(source: Source) -> list[Problem]:
    """Return the token series that the producer of a metrics file dropped."""
    try:
        count = _dropped(source.location)
    except OSError:
        return []
    reason = f"{count:,} token series were not written, for the recorder had no room: their samples say which"
    return [Problem(source=source.name, reason=reason, transient=True)] if count else []


def lost(source: Source) -> list[Problem]:
    """Return what a producer's file of losses says, by step and reason."""
    try:
        reasons = _lost(source.location)
    except OSError:
        return []
    return [Problem(source=source.name, reason=reason, transient=True) for reason in reasons]


@while_unchanged(1000)
def _lost(location: Location) -> tuple[str, ...]:
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


@while_unchanged(1000)
def _dropped(location: Location) -> int:
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
