"""The moments of token series at steps of which annotations discard samples, or keep some that were discarded.

The scan that sums the series of a step knows no annotation; the pass over tokens sums again where one says more.
"""

from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

from rolloupe.index import Moments, OpenRun, Piece, Snapshot, StepKey
from rolloupe.index.token_stats.files import WHOLE_STEP
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import indexed

COLUMNS = ("tokens", "total", "spread", "low", "high")

PlaceOfStep: TypeAlias = tuple[Path | None, StepKey]
"""A piece, by its path, and a step in it."""

KEPT = 100_000
"""Number of moments to cache."""

_cache: AnswerCache[dict[PlaceOfStep, Moments]] = AnswerCache(KEPT, len)


def annotated_steps(run: OpenRun, snapshot: Snapshot) -> set[StepKey]:
    """The steps of which annotations change what counts, as far as the pass over tokens has come."""
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
    found: dict[PlaceOfStep, Moments] = defaultdict(Moments)
    for row in indexed(run, snapshot, SampleQuery(), COLUMNS, name)[0]:
        count, total, spread, low, high = row.values
        if spread is not None:
            place = (row.piece.path, (row.split, row.step))
            found[place] = found[place].merge(Moments(count, total, spread, low, high))
    return found


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
