"""Curves of token series, and of what has a name that is either a sample metric or a token series."""

from rolloupe.index import Moments, OpenRun, StepStats
from rolloupe.query.near_names import unknown
from rolloupe.query.records import SeriesPoint
from rolloupe.query.run_tokens.annotated_moments import annotated_moments
from rolloupe.query.steps.summaries import (
    NONE,
    ascending,
    merged,
    places_of,
    sample_number,
    sample_points,
    stats_of,
    token_series_names,
)


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
