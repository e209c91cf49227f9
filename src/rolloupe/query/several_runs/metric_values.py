"""One metric of many runs: its last, greatest, least and smoothed value; and the metrics of all runs.

A run is asked again only when it has changed. Both answers stop after some time, and say how many runs are left: asked
again, they continue from there.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from rolloupe.errors import BadQuery, NotFound
from rolloupe.formats.reading.files import listing_once
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.query.curves.catalogue import CurveEntry, curve_catalogue
from rolloupe.query.curves.curve import check_curve, curve
from rolloupe.query.curves.records import CurveQuery
from rolloupe.query.run.trainer_metrics import trainer_version

T = TypeVar("T")

MAX_S = 3.0
KEPT = 20_000
"""Answers about a metric of a run to cache."""
KEPT_ENTRIES = 200_000
"""Entries of catalogues to cache."""


class ValueAt(NamedTuple):
    """A value of a metric, and its step."""

    value: float
    step: int


class MetricValues(NamedTuple):
    """The values of a metric in a run, of the finite ones; None for a run without any.

    `smooth` is the moving average at the last value: the value itself if the query smooths nothing.
    """

    last: ValueAt | None = None
    highest: ValueAt | None = None
    lowest: ValueAt | None = None
    smooth: float | None = None


class RunsCatalogue(NamedTuple):
    """The curves that any of some runs has, in the order of their catalogues."""

    entries: list[CurveEntry]
    runs_with: list[int]
    """The number of runs that have each."""
    left: int


_values: Lru[tuple[str, ...], MetricValues] = Lru(KEPT)
_catalogues: Lru[tuple[str, ...], list[CurveEntry]] = Lru(total=KEPT_ENTRIES, least=1)


def metric_values(
    runs: Sequence[OpenRun], query: CurveQuery, *, max_s: float = MAX_S
) -> tuple[dict[str, MetricValues], int]:
    """Return the values of a metric in each run, by id, and the number of runs left. Raises `BadQuery` as `curve`."""
    check_curve(query)

    def of_run(run: OpenRun) -> MetricValues:
        key = (*_state_of(run), repr(query))
        found = _values.get(key)
        if found is None:
            found = _computed(run, query)
            _values.put(key, found)
        return found

    return _in_time(runs, of_run, max_s)


def _computed(run: OpenRun, query: CurveQuery) -> MetricValues:
    try:
        found = curve(run, query)
    except (BadQuery, NotFound):
        return MetricValues()  # the run lacks the metric
    places = np.flatnonzero(np.isfinite(found.values))
    if not len(places):
        return MetricValues()
    values = found.values[places]

    def at(place: int) -> ValueAt:
        return ValueAt(float(found.values[place]), int(found.steps[place]))

    last = int(places[-1])
    smooth = found.values[last] if found.smooth is None else found.smooth[last]
    return MetricValues(at(last), at(int(places[np.argmax(values)])), at(int(places[np.argmin(values)])), float(smooth))


def runs_catalogue(runs: Sequence[OpenRun], *, max_s: float = MAX_S) -> RunsCatalogue:
    """Return the curves that any of the runs has. Curves of samples are those of the first split of each run."""

    def of_run(run: OpenRun) -> list[CurveEntry]:
        key = _state_of(run)
        found = _catalogues.get(key)
        if found is None:
            found = [_without_split(one) for one in curve_catalogue(run)]
            _catalogues.put(key, found, len(found))
        return found

    by_run, left = _in_time(runs, of_run, max_s)
    entries: dict[CurveQuery, CurveEntry] = {}
    count: Counter[CurveQuery] = Counter()
    for one in by_run.values():
        for entry in one:
            entries.setdefault(entry.query, entry)
            count[entry.query] += 1
    return RunsCatalogue(list(entries.values()), [count[query] for query in entries], left)


def _without_split(entry: CurveEntry) -> CurveEntry:
    """The entry for any run: an evaluation is a split itself, other curves are those of the first split."""
    query = entry.query
    source = query.source if query.kind == "eval" else ""
    return entry._replace(query=replace(query, source=source))


def _state_of(run: OpenRun) -> tuple[str, ...]:
    """What an answer about a run depends on: its samples, and the files of its trainer, which may grow alone."""
    trainer = hashlib.blake2b(trainer_version(run).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return str(run.catalog.folder), run.version, trainer


def _in_time(runs: Sequence[OpenRun], answer: Callable[[OpenRun], T], max_s: float) -> tuple[dict[str, T], int]:
    """The answers about runs, by id, as many as take `max_s`, one at least; and the number of runs left."""
    began, found = time.monotonic(), dict[str, T]()
    with listing_once():
        for run in runs:
            if found and time.monotonic() - began > max_s:
                break
            found[run.id] = answer(run)
    return found, len(runs) - len(found)
