"""Moments of columns and token series by step: of all trained samples, or of those that match a filter."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from rolloupe.columns import CHARTED
from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import BadQuery
from rolloupe.index import Moments, OpenRun, Snapshot, StepKey, StepStats
from rolloupe.index.segments.columns import ColumnRef, sql_type
from rolloupe.index.segments.step_stats import moments_from
from rolloupe.index.token_stats.files import WHOLE_STEP
from rolloupe.query.engine import database
from rolloupe.query.engine.caches import AnswerCache, StepAnswers
from rolloupe.query.engine.compile import CompiledQuery, matching
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_annotated, is_asked, moments_by_kind, qualified, reference, unknown
from rolloupe.query.engine.relation import AnnotationOverlay, Column, finite_stats, quote
from rolloupe.query.records import SampleQuery, SeriesPoint, Stats
from rolloupe.query.run_tokens.token_index import indexed
from rolloupe.query.steps.discards import discarded_by_step

NONE = Moments()


def stats_of(moments: Moments, rows: int) -> Stats:
    """The statistics of the moments of `rows` samples."""
    if not moments.count:
        return Stats(0, None, None, None, None, rows)
    return Stats(moments.count, moments.mean, moments.std, moments.min, moments.max, rows - moments.count)


def merged(moments: Iterable[Moments]) -> Moments:
    """The moments of all values together."""
    return functools.reduce(Moments.merge, moments, NONE)


class TrainedColumn:
    """A column of the trained samples by step, from step statistics and, unless `quick`, from annotations."""

    def __init__(self, run: OpenRun, snapshot: Snapshot, of: ColumnRef, *, quick: bool = False) -> None:
        is_overridden = not quick and (is_annotated(snapshot, [of.column]) or snapshot.annotates_discarded)
        self._of = of
        self._annotated = annotated_moments(run, snapshot, of.column) if is_overridden else None
        self._discarded = None if quick else discarded_by_step(run)

    def moments(self, stats: StepStats) -> Moments:
        """The moments of a step."""
        if self._annotated is None:
            return moments_by_kind(stats, self._of.kind).get(self._of.name, NONE)
        return self._annotated.get((stats.split, stats.step), NONE)

    def count(self, stats: StepStats) -> int:
        """The number of trained samples of a step, with or without a value."""
        if self._discarded is None:
            return stats.trained
        return stats.rows - self._discarded.get((stats.split, stats.step), 0)

    def together(self, step_stats: Sequence[StepStats]) -> Stats:
        """The statistics of one step, or of several splits at a step."""
        return stats_of(merged(map(self.moments, step_stats)), sum(map(self.count, step_stats)))


_annotated: AnswerCache[dict[StepKey, Moments]] = AnswerCache(200_000, len)  # by column: the moments of steps


def annotated_moments(run: OpenRun, snapshot: Snapshot, column: str) -> dict[StepKey, Moments]:
    """Return the moments of a column by step if annotations change it, or change which samples count."""

    def ask() -> dict[StepKey, Moments]:
        value = f"{quote(column)}::DOUBLE"
        sql = f"""SELECT split, step, {finite_stats(value)}
            FROM rows WHERE isfinite({value}) AND discarded = '' GROUP BY split, step"""
        named = [Column(column, kind)] if (kind := sql_type(column)) else []
        question = Question(snapshot.holding(), sql, named=named, overlay=_overlay_of(snapshot, column))
        return {(split, step): moments_from(*numbers) for split, step, *numbers in database.ask(run, question)}

    return _annotated.get(run, snapshot, column, ask)


def _overlay_of(snapshot: Snapshot, *columns: str) -> AnnotationOverlay:
    is_overridden = is_annotated(snapshot, columns) or snapshot.annotates_discarded
    pieces, scores = (snapshot.annotations, snapshot.scores) if is_overridden else ((), ())
    return AnnotationOverlay(pieces, [*columns, "discarded"], scores=scores)


def by_step(snapshot: Snapshot, split: str) -> dict[int, list[StepStats]]:
    """The statistics of the selected splits, by step."""
    steps: dict[int, list[StepStats]] = defaultdict(list)
    for stats in snapshot.steps.values():
        if is_asked(stats.split, split):
            steps[stats.step].append(stats)
    return steps


def columns(run: OpenRun) -> list[str]:
    """The names that a list can sort by and a curve can show: fixed numbers, sample metrics, derived metrics."""
    derived = (f"{PREFIX}{name}" for name, metric in METRICS.items() if metric.kind == "number")
    return [*CHARTED, *(qualified(name, "metric") for name in run.snapshot().metrics), *derived]


def token_series_names(run: OpenRun) -> list[str]:
    """The token series for which the index keeps statistics."""
    return list(dict.fromkeys(name for stats in run.snapshot().steps.values() for name in stats.series))


def sample_number(snapshot: Snapshot, name: str) -> ColumnRef | None:
    """The column behind a name, if it is a number of samples."""
    of = reference(snapshot, name)
    if of is None or of.kind == "metric":
        return of
    if of.kind == "derived":
        return of if METRICS[of.name].kind == "number" else None
    return of if of.kind == "fixed" and of.name in CHARTED else None


def _known_number(run: OpenRun, snapshot: Snapshot, name: str) -> ColumnRef:
    of = sample_number(snapshot, name)
    if of is None:
        series_names = token_series_names(run)
        also = f"; token series: {', '.join(series_names)}" if series_names else ""
        raise BadQuery(f"{unknown('sample metric', name, columns(run))}{also}")
    return of


def trained_column(
    run: OpenRun, snapshot: Snapshot, name: str, where: str = "", beside: Sequence[str] = ()
) -> tuple[str, CompiledQuery]:
    """Return a numeric column in SQL, and the rows that match a filter, with columns `beside` it. Raises `BadQuery`."""
    of = _known_number(run, snapshot, name)
    rows = matching(snapshot, where, [name, "discarded", *beside])
    if not rows.own:
        rows = rows._replace(overlay=_overlay_of(snapshot, of.column, *beside))
    later = (of.name,) if of.kind == "derived" else ()
    return f"{quote(of.column)}::DOUBLE", rows._replace(later=(*later, *rows.later))


def sample_points(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """Statistics of a numeric column or sample metric by step. Raises `BadQuery`, which lists the known names."""
    snapshot = run.snapshot()
    trained = TrainedColumn(run, snapshot, _known_number(run, snapshot, name))
    return ascending(SeriesPoint(*key, trained.together(members)) for key, members in places_of(snapshot, split))


def places_of(snapshot: Snapshot, split: str | None) -> list[tuple[StepKey, list[StepStats]]]:
    """The statistics that make a point of a curve, of one split or all: those of a step, of all evaluations at it."""
    if split is None:
        return [(key, [stats]) for key, stats in snapshot.steps.items()]
    return [((split, step), members) for step, members in by_step(snapshot, split).items()]


def ascending(points: Iterable[SeriesPoint]) -> list[SeriesPoint]:
    """Points by split and step."""
    return sorted(points, key=lambda point: (point.split, point.step))


_stats = StepAnswers[Stats](lambda rows, *numbers: stats_of(moments_from(*numbers), rows))


def matching_points(run: OpenRun, name: str, split: str, where: str) -> list[SeriesPoint]:
    """Return statistics of the trained samples of a split that match a filter, at each step that has any."""
    if not where:
        return sample_points(run, name, split)
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name, where)
    sql = f"""
    {rows.own} SELECT step, count(*), {finite_stats(value)} FROM {rows.table}
    WHERE split IN (SELECT unnest(?)) AND discarded = '' GROUP BY step
    HAVING count({value}) FILTER (isfinite({value})) > 0"""
    stats_by_step = _stats.get(run, snapshot, split, rows, sql)
    return [SeriesPoint(split, step, stats) for step, stats in stats_by_step.items()]


COLUMNS = ("tokens", "total", "spread", "low", "high")
PlaceOfStep: TypeAlias = tuple[Path | None, StepKey]  # a piece, by its path, and a step in it
_token_moments: AnswerCache[dict[PlaceOfStep, Moments]] = AnswerCache(100_000, len)


def annotated_steps(run: OpenRun, snapshot: Snapshot) -> set[StepKey]:
    """The steps at which annotations change which samples count. The pass over tokens may not have reached all."""
    return {key for _, key in _summed_again(run, snapshot, WHOLE_STEP)} if snapshot.annotates_discarded else set()


def _moments_of_tokens(run: OpenRun, snapshot: Snapshot, name: str) -> dict[StepKey, Moments]:
    """The moments of a series at these steps, over the samples that count."""
    if not snapshot.annotates_discarded:
        return {}
    places, known = _summed_again(run, snapshot, WHOLE_STEP), _summed_again(run, snapshot, name)
    moments: dict[StepKey, Moments] = defaultdict(Moments)
    for key in {key for _, key in places}:
        launches = (0, snapshot.steps[key].launch)
        for piece in snapshot.holding([key[0]], key[1], key[1]):
            own = [stats for stats in piece.step_stats if (stats.split, stats.step) == key and stats.launch in launches]
            scanned = merged(stats.series[name].moments for stats in own if name in stats.series)
            place = (piece.path, key)
            moments[key] = moments[key].merge(known.get(place, NONE) if place in places else scanned)
    return moments


def _summed_again(run: OpenRun, snapshot: Snapshot, name: str) -> dict[PlaceOfStep, Moments]:
    def read() -> dict[PlaceOfStep, Moments]:
        moments: dict[PlaceOfStep, Moments] = defaultdict(Moments)
        for row in indexed(run, snapshot, SampleQuery(), COLUMNS, name)[0]:
            count, total, spread, low, high = row.values
            if spread is not None:
                place = (row.piece.path, (row.split, row.step))
                moments[place] = moments[place].merge(Moments(count, total, spread, low, high))
        return moments

    return _token_moments.get(run, snapshot, name, read)


def series(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """A sample metric by step, of one split or all; or the token series of that name, if no sample metric has it.

    For `eval` a point covers all evaluations at its step. A point of a token series covers the tokens with a value;
    without such tokens there is no point. Raises `BadQuery`, which lists the known names.
    """
    is_series = sample_number(run.snapshot(), name) is None and name in token_series_names(run)
    return token_points(run, name, split) if is_series else sample_points(run, name, split)


def token_points(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """Return statistics of a token series by step, over the tokens with a value. Raises `BadQuery` for another name."""
    series_names = token_series_names(run)
    if name not in series_names:
        raise unknown("token series", name, series_names)
    snapshot = run.snapshot()
    again = _moments_of_tokens(run, snapshot, name)

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
