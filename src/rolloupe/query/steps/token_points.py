"""Curves of token series, and of a name that is either a sample metric or a token series."""

from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

from rolloupe.index import Moments, OpenRun, Piece, Snapshot, StepKey, StepStats
from rolloupe.index.token_stats.files import WHOLE_STEP
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.engine.names import unknown
from rolloupe.query.records import SampleQuery, SeriesPoint
from rolloupe.query.run_tokens.token_index import indexed
from rolloupe.query.steps.moments import (
    NONE,
    ascending,
    merged,
    places_of,
    sample_number,
    sample_points,
    stats_of,
    token_series_names,
)

COLUMNS = ("tokens", "total", "spread", "low", "high")

PlaceOfStep: TypeAlias = tuple[Path | None, StepKey]
"""A piece, by its path, and a step in it."""

KEPT = 100_000
"""Number of moments to cache."""

_cache: AnswerCache[dict[PlaceOfStep, Moments]] = AnswerCache(KEPT, len)


def annotated_steps(run: OpenRun, snapshot: Snapshot) -> set[StepKey]:
    """The steps at which annotations change which samples count. The pass over tokens may not have reached all."""
    return {key for _, key in _summed_again(run, snapshot, WHOLE_STEP)} if snapshot.annotates_discarded else set()


def annotated_moments(run: OpenRun, snapshot: Snapshot, name: str) -> dict[StepKey, Moments]:
    """The moments of a series at these steps, over the samples that count."""
    if not snapshot.annotates_discarded:
        return {}
    places, known = _summed_again(run, snapshot, WHOLE_STEP), _summed_again(run, snapshot, name)
    by_step: dict[StepKey, Moments] = defaultdict(Moments)
    for key in {key for _, key in places}:
        for piece in snapshot.holding([key[0]], key[1], key[1]):
            place = (piece.path, key)
            own = known.get(place, Moments()) if place in places else _scanned(snapshot, piece, key, name)
            by_step[key] = by_step[key].merge(own)
    return by_step


def _summed_again(run: OpenRun, snapshot: Snapshot, name: str) -> dict[PlaceOfStep, Moments]:
    return _cache.get(run, snapshot, name, lambda: _read(run, snapshot, name))


def _read(run: OpenRun, snapshot: Snapshot, name: str) -> dict[PlaceOfStep, Moments]:
    moments: dict[PlaceOfStep, Moments] = defaultdict(Moments)
    for row in indexed(run, snapshot, SampleQuery(), COLUMNS, name)[0]:
        count, total, spread, low, high = row.values
        if spread is not None:
            place = (row.piece.path, (row.split, row.step))
            moments[place] = moments[place].merge(Moments(count, total, spread, low, high))
    return moments


def _scanned(snapshot: Snapshot, piece: Piece, key: StepKey, name: str) -> Moments:
    moments = Moments()
    for stats in piece.step_stats:
        if (
            (stats.split, stats.step) == key
            and stats.launch in (0, snapshot.steps[key].launch)
            and name in stats.series
        ):
            moments = moments.merge(stats.series[name].moments)
    return moments


def series(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """A sample metric by step, of one split or all; or the token series of that name, if no sample metric has it.

    For `eval` a point covers all evaluations at its step. A point of a token series covers the tokens with a value;
    without such tokens there is no point. Raises `BadQuery`, which lists the known names.
    """
    is_series = sample_number(run.snapshot(), name) is None and name in token_series_names(run)
    return token_points(run, name, split) if is_series else sample_points(run, name, split)


def token_points(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """Statistics of a token series by step, over the tokens with a value. Raises `BadQuery`, which lists the series.

    Samples that an annotation discards do not count once the pass over tokens has come to them.
    """
    series_names = token_series_names(run)
    if name not in series_names:
        raise unknown("token series", name, series_names)
    snapshot = run.snapshot()
    again = annotated_moments(run, snapshot, name)

    def of(stats: StepStats) -> Moments:
        own = stats.series[name].moments if name in stats.series else NONE
        return again.get((stats.split, stats.step), own)

    places = places_of(snapshot, split)
    parts = ((key, [moments for s in members if (moments := of(s)).count]) for key, members in places)
    return ascending(
        SeriesPoint(*key, stats_of(merged(each), sum(m.count for m in each))) for key, each in parts if each
    )


def needs_tokens(run: OpenRun, name: str) -> bool:
    """True for a token series of which the pass over tokens knows more than the scan: which samples count."""
    return run.snapshot().annotates_discarded and name in token_series_names(run)
