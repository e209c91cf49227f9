"""Splits, steps, groups and curves: answers from step statistics, or from one look at a step."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rolloupe.columns import CHARTED
from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import Moments, OpenRun, Snapshot, StepKey, StepStats, added_stamps
from rolloupe.index.segments.columns import ColumnRef, sql_type
from rolloupe.index.segments.step_stats import moments_from
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.compile import discard_overlay
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_annotated, qualified, reference
from rolloupe.query.engine.relation import AnnotationOverlay, Column, deviation_of, mean_of, quote
from rolloupe.query.engine.row_filter import matching
from rolloupe.query.near_names import unknown
from rolloupe.query.records import GroupSummary, SeriesPoint, SplitSummary, Stats, StepSummary
from rolloupe.query.splits import is_asked
from rolloupe.query.steps.discards import discarded_by_step

NONE = Moments()


def stats_of(moments: Moments, rows: int) -> Stats:
    """The statistics of the moments of `rows` samples."""
    if not moments.count:
        return Stats(0, None, None, None, None, rows)
    return Stats(moments.count, moments.mean, moments.std, moments.min, moments.max, rows - moments.count)


REWARD = ColumnRef("fixed", "reward")


def moments_by_kind(stats: StepStats, kind: str) -> Mapping[str, Moments]:
    """The moments of a step by name, of the columns of a kind."""
    return {"fixed": stats.columns, "metric": stats.metrics, "derived": stats.derived}.get(kind, {})


_annotated: AnswerCache[dict[StepKey, Moments]] = AnswerCache(200_000, len)
"""By column: the moments of steps."""


class _Trained:
    """A column of the trained samples, by step: from step statistics, or with annotations if these say more."""

    def __init__(self, run: OpenRun, snapshot: Snapshot, of: ColumnRef, *, quick: bool = False) -> None:
        is_overridden = not quick and (is_annotated(snapshot, [of.column]) or snapshot.annotates_discarded)
        self._of = of
        self._annotated = _annotated_moments(run, snapshot, of.column) if is_overridden else None
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


def merged(moments: Iterable[Moments]) -> Moments:
    """The moments of all values together."""
    return functools.reduce(Moments.merge, moments, NONE)


def _by_step(snapshot: Snapshot, split: str) -> dict[int, list[StepStats]]:
    """The statistics of the selected splits, by step."""
    by_step: dict[int, list[StepStats]] = defaultdict(list)
    for stats in snapshot.steps.values():
        if is_asked(stats.split, split):
            by_step[stats.step].append(stats)
    return by_step


def splits(run: OpenRun, *, quick: bool = False) -> list[SplitSummary]:
    """The splits of a run: `train` first, the others by name. Rewards cover trained samples, as those of steps do.

    `quick` looks at no sample: `groups` is -1, and annotations of rewards and discards are ignored. If annotations
    record discards, `discarded` is None, and `reward` covers those samples too.
    """
    snapshot = run.snapshot()
    by_split: dict[str, list[StepStats]] = defaultdict(list)
    for stats in snapshot.steps.values():
        by_split[stats.split].append(stats)
    counted = {} if quick else _counted_groups(run, [s for s in snapshot.steps.values() if s.groups < 0])
    trained = _Trained(run, snapshot, REWARD, quick=quick)
    summaries = []
    for name in sorted(by_split, key=lambda split: (split != "train", split)):
        members = by_split[name]
        reward, count, rows = NONE, 0, sum(s.rows for s in members)
        for stats in members:
            reward, count = reward.merge(trained.moments(stats)), count + trained.count(stats)
        groups = -1 if quick else sum(s.groups if s.groups >= 0 else counted[s.split, s.step] for s in members)
        numbers = [s.step for s in members]
        summaries.append(
            SplitSummary(
                name,
                len(members),
                groups,
                rows,
                min(numbers),
                max(numbers),
                stats_of(reward, count),
                sum(s.superseded for s in members),
                None if quick and snapshot.annotates_discarded else rows - count,
            )
        )
    return summaries


def _counted_groups(run: OpenRun, step_stats: list[StepStats]) -> dict[tuple[str, int], int]:
    """Distinct groups of steps in several segments, whose own counts do not add up."""
    counts: dict[tuple[str, int], int] = defaultdict(int)
    by_split: dict[str, list[int]] = defaultdict(list)
    for stats in step_stats:
        by_split[stats.split].append(stats.step)
    for split, numbers in by_split.items():
        pieces = run.snapshot().holding([split], min(numbers), max(numbers))
        sql = "SELECT step, count(DISTINCT grp) FROM rows WHERE split = ? AND step BETWEEN ? AND ? GROUP BY step"
        if pieces:
            for step, count in database.ask(run, Question(pieces, sql, [split, min(numbers), max(numbers)])):
                counts[split, step] = count
    return counts


def steps(run: OpenRun, split: str) -> list[StepSummary]:
    """The steps of a split, ascending; for `eval` those of all evaluations, their samples together.

    Raises `NotFound`, which lists the known splits.
    """
    snapshot = run.snapshot()
    trained = _Trained(run, snapshot, REWARD)
    summaries = []
    for step, members in _by_step(snapshot, split).items():
        rows, count = sum(s.rows for s in members), sum(map(trained.count, members))
        states = (run.step_states.get((s.split, step), "") for s in members)
        state = next(filter(None, states), "")
        stamp = added_stamps(s.stamp for s in members)
        summaries.append(StepSummary(split, step, rows, trained.together(members), state, stamp, rows - count))
    if not summaries:
        names = ", ".join(sorted({key[0] for key in run.snapshot().steps})) or "none yet"
        raise NotFound(f"no split {split!r} in run {run.id!r}; its splits: {names}")
    return sorted(summaries, key=lambda summary: summary.step)


def value_names(run: OpenRun) -> tuple[list[str], list[str]]:
    """The names of the sample metrics and of the tags of the run's samples, including annotations."""
    snapshot = run.snapshot()
    metrics, tags = snapshot.annotated_names()
    return list(dict.fromkeys([*snapshot.metrics, *metrics])), list(dict.fromkeys([*snapshot.tags, *tags]))


def columns(run: OpenRun) -> list[str]:
    """The names that a list can sort by and a curve can show: fixed numbers, sample metrics, derived metrics."""
    derived = (f"{PREFIX}{name}" for name, metric in METRICS.items() if metric.kind == "number")
    return [*CHARTED, *(qualified(name, "metric") for name in run.snapshot().metrics), *derived]


def token_series_names(run: OpenRun) -> list[str]:
    """The token series for which the index keeps statistics."""
    return list(dict.fromkeys(name for stats in run.snapshot().steps.values() for name in stats.series))


def sample_points(run: OpenRun, name: str, split: str | None = None) -> list[SeriesPoint]:
    """Statistics of a numeric column or sample metric by step. Raises `BadQuery`, which lists the known names."""
    snapshot = run.snapshot()
    of = _known_number(run, snapshot, name)
    trained = _Trained(run, snapshot, of)
    return ascending(SeriesPoint(*key, trained.together(members)) for key, members in places_of(snapshot, split))


def places_of(snapshot: Snapshot, split: str | None) -> list[tuple[StepKey, list[StepStats]]]:
    """The statistics that make a point of a curve, of one split or all: those of a step, of all evaluations at it."""
    if split is None:
        return [(key, [stats]) for key, stats in snapshot.steps.items()]
    return [((split, step), members) for step, members in _by_step(snapshot, split).items()]


def _known_number(run: OpenRun, snapshot: Snapshot, name: str) -> ColumnRef:
    of = sample_number(snapshot, name)
    if of is None:
        series_names = token_series_names(run)
        also = f"; token series: {', '.join(series_names)}" if series_names else ""
        error = unknown("sample metric", name, columns(run))
        raise BadQuery(f"{error}{also}")
    return of


def sample_number(snapshot: Snapshot, name: str) -> ColumnRef | None:
    """The column behind a name, if it is a number of samples."""
    of = reference(snapshot, name)
    if of is not None and of.kind == "derived":
        return of if METRICS[of.name].kind == "number" else None
    is_number = of is not None and (of.kind == "metric" or (of.kind == "fixed" and of.name in CHARTED))
    return of if is_number else None


def ascending(points: Iterable[SeriesPoint]) -> list[SeriesPoint]:
    """Points by split and step."""
    return sorted(points, key=lambda point: (point.split, point.step))


class TrainedColumn(NamedTuple):
    """A numeric column of the trained samples, for a statement: `value` in SQL, and what that needs."""

    value: str
    named: Sequence[Column]
    overlay: AnnotationOverlay
    """The annotations, if they may change the values, or which samples count."""
    later: tuple[str, ...]
    """The derived metrics, and texts of tokens, that the values or the filter need."""
    table: str
    """The rows that match the filter; the statement begins with `own` and binds `values` first."""
    own: str
    values: Sequence[Any]


def trained_column(
    run: OpenRun, snapshot: Snapshot, name: str, where: str = "", beside: Sequence[str] = ()
) -> TrainedColumn:
    """Return a sample metric, of the samples that match a filter, and columns that the statement uses beside it.

    Raises `BadQuery`, which lists the known names.
    """
    of = _known_number(run, snapshot, name)
    rows = matching(snapshot, where, [name, "discarded", *beside])
    named = [Column(of.column, kind)] if (kind := sql_type(of.column)) else []
    return TrainedColumn(
        f"{quote(of.column)}::DOUBLE",
        list(dict.fromkeys([*named, *rows.named])),
        rows.overlay if rows.own else _overlay_of(snapshot, of.column, *beside),
        (*([of.name] if of.kind == "derived" else []), *rows.later),
        rows.table,
        rows.own,
        rows.values,
    )


def _overlay_of(snapshot: Snapshot, *columns: str) -> AnnotationOverlay:
    is_overridden = is_annotated(snapshot, columns) or snapshot.annotates_discarded
    pieces, scores = (snapshot.annotations, snapshot.scores) if is_overridden else ((), ())
    return AnnotationOverlay(pieces, [*columns, "discarded"], scores=scores)


def _annotated_moments(run: OpenRun, snapshot: Snapshot, column: str) -> dict[StepKey, Moments]:
    """The moments of a column if annotations change it, or change which samples count: step statistics lack these.

    All statistics of a column, and the curves of all splits, share one answer.
    """
    return _annotated.get(run, snapshot, column, lambda: _asked_moments(run, snapshot, column))


def _asked_moments(run: OpenRun, snapshot: Snapshot, column: str) -> dict[StepKey, Moments]:
    value = f"{quote(column)}::DOUBLE"
    sql = f"""
    SELECT split, step, count({value}), {mean_of(value)}, {deviation_of(value)}, min({value}), max({value})
    FROM rows WHERE isfinite({value}) AND discarded = '' GROUP BY split, step"""
    pieces = snapshot.holding()
    named = [Column(column, kind)] if (kind := sql_type(column)) else []
    overlay = _overlay_of(snapshot, column)
    answer = database.ask(run, Question(pieces, sql, named=named, overlay=overlay)) if pieces else []
    return {(split, step): moments_from(*numbers) for split, step, *numbers in answer}


GROUPS = f"""
, placed AS (SELECT *, row(source, ordinal, byte_start, part) AS place FROM rows WHERE split = ? AND step = ?)
, own AS (SELECT *, min(place) OVER (PARTITION BY grp) AS lead FROM placed)
SELECT grp, arg_min(prompt_preview, place), count(*), count(reward) FILTER (isfinite(reward)),
       {mean_of("reward")}, {deviation_of("reward")},
       min(reward) FILTER (isfinite(reward)), max(reward) FILTER (isfinite(reward)), arg_min(env, place),
       coalesce(mode(nullif(discarded, '')), '')
FROM own WHERE {{}} GROUP BY grp ORDER BY min(lead)
"""


def groups(run: OpenRun, split: str, step: int, *, trained: bool | None = None) -> list[GroupSummary]:
    """The groups of a step in order of their first sample. Raises `NotFound` for a step without samples.

    `trained` as in `SampleQuery`: a step without such samples has no groups.
    """
    snapshot = run.snapshot()
    pieces = snapshot.holding([split], step, step)
    which = "true" if trained is None else f"discarded {'=' if trained else '<>'} ''"
    question = Question(pieces, GROUPS.format(which), [split, step], overlay=discard_overlay(snapshot))
    summaries: list[GroupSummary] = []
    first = 0
    answer = database.ask(run, question) if pieces else []
    for group, prompt, count, finite, mean, std, low, high, env, reason in answer:
        summaries.append(
            GroupSummary(group, prompt, count, first, Stats(finite, mean, std, low, high, count - finite), env, reason)
        )
        first += count
    if not pieces:
        raise NotFound(f"no samples at step {step} of split {split!r} in run {run.id!r}")
    return summaries
