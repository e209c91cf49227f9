"""Moments of columns and token series by step, of all trained samples or of those that match a filter; discards."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from rolloupe.errors import BadQuery
from rolloupe.index import Moments, OpenRun, Snapshot, StepKey, StepStats
from rolloupe.index.segments.columns import ColumnRef, sql_type
from rolloupe.index.segments.step_stats import moments_from
from rolloupe.index.token_stats.files import WHOLE_STEP
from rolloupe.model import CHARTED
from rolloupe.query.engine import database, names
from rolloupe.query.engine.caches import AnswerCache, StepAnswers
from rolloupe.query.engine.compile import CompiledQuery, discard_overlay, matching
from rolloupe.query.engine.relation import AnnotationOverlay, Column, finite_stats, quote
from rolloupe.query.records import Discards, SampleQuery, SeriesPoint, Stats
from rolloupe.query.run_tokens.token_index import indexed
from rolloupe.questions import DiscardQuery

KEPT = 1_000_000  # number of counts of steps and reasons to cache

COUNTED = """
SELECT split, step, discarded, count(*), count(DISTINCT grp),
       count(*) FILTER (status IN ('aborted', 'error') AND response_chars = 0),
       count(*) FILTER (reward = 0), count(*) FILTER (reward > 0 AND isfinite(reward))
FROM rows WHERE discarded <> '' GROUP BY split, step, discarded ORDER BY split <> 'train', split, step, discarded
"""

_cache: AnswerCache[list[Discards]] = AnswerCache(KEPT, len)


def discards(run: OpenRun, split: str | None = None) -> list[Discards]:
    """Return counts of discarded samples by split, step and reason; `eval` covers all evaluations together."""
    counts: dict[tuple[str, int, str], list[tuple[int, ...]]] = defaultdict(list)
    for name, step, reason, *numbers in _all(run):
        if names.is_asked(name, split):
            counts[split or name, step, reason].append(tuple(numbers))
    places = sorted(counts, key=lambda place: (place[0] != "train", *place))
    return [Discards(*place, *(sum(column) for column in zip(*counts[place], strict=True))) for place in places]


class RunDiscards(Struct, frozen=True, kw_only=True):
    """Parallel columns, one entry for each step and reason, by step.

    `unfinished` of the samples were cancelled or failed: they have no answer to read. `at_zero` have a reward of 0, and
    `above_zero` a larger one.
    """

    split: str
    reasons: list[str]
    steps: list[int]
    samples: list[int]
    groups: list[int]
    unfinished: list[int]
    at_zero: list[int]
    above_zero: list[int]


def discards_answer(run: OpenRun, asked: DiscardQuery) -> RunDiscards:
    """Return the discarded samples of a split, in columns."""
    columns = list(zip(*discards(run, asked.split), strict=True)) or [()] * len(Discards._fields)
    _, steps, reasons, samples, groups, unfinished, at_zero, above_zero = map(list, columns)
    return RunDiscards(
        split=asked.split, reasons=reasons, steps=steps, samples=samples, groups=groups, unfinished=unfinished,
        at_zero=at_zero, above_zero=above_zero,
    )  # fmt: skip


def discarded_by_step(run: OpenRun) -> dict[StepKey, int]:
    """Counts of discarded samples by step. Looks at samples only if annotations record discards."""
    snapshot = run.snapshot()
    if not snapshot.annotates_discarded:
        return {key: sum(stats.discarded.values()) for key, stats in snapshot.steps.items() if stats.discarded}
    counts: Counter[StepKey] = Counter()
    for discard in _all(run):
        counts[discard.split, discard.step] += discard.samples
    return dict(counts)


def discarded_among(run: OpenRun, split: str, step_min: int | None, step_max: int | None) -> str:
    """Say in a sentence how many samples of some steps were discarded and count as well; empty for none."""
    by_step, steps = discarded_by_step(run), run.snapshot().steps
    scope = SampleQuery(step_min=step_min, step_max=step_max)
    inside = [key for key in steps if names.is_asked(key[0], split) and names.is_within(scope, *key)]
    count = sum(by_step.get(key, 0) for key in inside)
    words = f"{count:,} {'was' if count == 1 else 'were'} discarded, and {'counts' if count == 1 else 'count'} as well."
    return f"Of {sum(steps[key].rows for key in inside):,} samples {words}" if count else ""


def _all(run: OpenRun) -> list[Discards]:
    snapshot = run.snapshot()
    if not snapshot.has_discarded:
        return []
    question = database.Question(snapshot.holding(), COUNTED, overlay=discard_overlay(snapshot))
    return _cache.get(run, snapshot, None, lambda: [Discards(*counts) for counts in database.ask(run, question)])


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
        is_overridden = not quick and (names.is_annotated(snapshot, [of.column]) or snapshot.annotates_discarded)
        self._of = of
        self._annotated = annotated_moments(run, snapshot, of.column) if is_overridden else None
        self._discarded = None if quick else discarded_by_step(run)

    def moments(self, stats: StepStats) -> Moments:
        """The moments of a step."""
        if self._annotated is None:
            return names.moments_by_kind(stats, self._of.kind).get(self._of.name, NONE)
        return self._annotated.get((stats.split, stats.step), NONE)

    def count(self, stats: StepStats) -> int:
        """The number of trained samples of a step, with or without a value."""
        if self._discarded is None:
            return stats.trained
        return stats.rows - self._discarded.get((stats.split, stats.step), 0) if self._discarded else stats.rows

    def together(self, step_stats: Sequence[StepStats]) -> Stats:
        """The statistics of one step, or of several splits at a step."""
        if len(step_stats) == 1:
            return stats_of(self.moments(step_stats[0]), self.count(step_stats[0]))
        return stats_of(merged(map(self.moments, step_stats)), sum(map(self.count, step_stats)))


_annotated: AnswerCache[dict[StepKey, Moments]] = AnswerCache(200_000, len)  # by column: the moments of steps


def annotated_moments(run: OpenRun, snapshot: Snapshot, column: str) -> dict[StepKey, Moments]:
    """Return the moments of a column by step if annotations change it, or change which samples count."""

    def ask() -> dict[StepKey, Moments]:
        value = f"{quote(column)}::DOUBLE"
        sql = f"""SELECT split, step, {finite_stats(value)}
            FROM rows WHERE isfinite({value}) AND discarded = '' GROUP BY split, step"""
        named = [Column(column, kind)] if (kind := sql_type(column)) else []
        question = database.Question(snapshot.holding(), sql, named=named, overlay=_overlay_of(snapshot, column))
        return {(split, step): moments_from(*numbers) for split, step, *numbers in database.ask(run, question)}

    return _annotated.get(run, snapshot, column, ask)


def _overlay_of(snapshot: Snapshot, *columns: str) -> AnnotationOverlay:
    is_overridden = names.is_annotated(snapshot, columns) or snapshot.annotates_discarded
    pieces, scores = (snapshot.annotations, snapshot.scores) if is_overridden else ((), ())
    return AnnotationOverlay(pieces, [*columns, "discarded"], scores=scores)


def by_step(snapshot: Snapshot, split: str) -> dict[int, list[StepStats]]:
    """The statistics of the selected splits, by step."""
    asked = {name for name in {name for name, _ in snapshot.steps} if names.is_asked(name, split)}
    steps: dict[int, list[StepStats]] = defaultdict(list)
    for (name, step), stats in snapshot.steps.items():
        if name in asked:
            steps[step].append(stats)
    return steps


def columns(run: OpenRun) -> list[str]:
    """The names that a list can sort by and a curve can show: fixed numbers, sample metrics, derived metrics."""
    return [*CHARTED, *(names.qualified(name, "metric") for name in run.snapshot().metrics), *names.DERIVED_NAMES]


def token_series_names(run: OpenRun) -> list[str]:
    """The token series for which the index keeps statistics."""
    return list(dict.fromkeys(name for stats in run.snapshot().steps.values() for name in stats.series))


def sample_number(snapshot: Snapshot, name: str) -> ColumnRef | None:
    """The column behind a name, if it is a number of samples."""
    of = names.reference(snapshot, name)
    if of is None or of.kind in ("metric", "derived"):
        return of
    return of if of.kind == "fixed" and of.name in CHARTED else None


def _known_number(run: OpenRun, snapshot: Snapshot, name: str) -> ColumnRef:
    of = sample_number(snapshot, name)
    if of is None:
        series_names = token_series_names(run)
        also = f"; token series: {', '.join(series_names)}" if series_names else ""
        raise BadQuery(f"{names.unknown('sample metric', name, columns(run))}{also}")
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
    return [SeriesPoint(*key, trained.together(members)) for key, members in _members(snapshot, split)]


def _members(snapshot: Snapshot, split: str | None) -> list[tuple[StepKey, list[StepStats]]]:
    """The statistics for each point of a curve, by split and step: of one step, or of all evaluations at it."""
    if split is None:
        return sorted((key, [stats]) for key, stats in snapshot.steps.items())
    return sorted(((split, step), members) for step, members in by_step(snapshot, split).items())


_stats = StepAnswers()


def matching_points(run: OpenRun, name: str, split: str, where: str) -> list[SeriesPoint]:
    """Return statistics of the trained samples of a split that match a filter, at each step that has any."""
    if not where:
        return sample_points(run, name, split)
    snapshot = run.snapshot()
    value, rows = trained_column(run, snapshot, name, where)
    sql = rows.by_step(f"count(*), {finite_stats(value)}", "discarded = ''")
    by_step = _stats.get(run, snapshot, split, rows, f"{sql} HAVING count({value}) FILTER (isfinite({value})) > 0")
    return [SeriesPoint(split, step, stats_of(moments_from(*own), count)) for step, (count, *own) in by_step.items()]


COLUMNS = ("tokens", "total", "spread", "low", "high")
PlaceOfStep: TypeAlias = tuple[Path | None, StepKey]  # a piece, by its path, and a step in it
_token_moments: AnswerCache[dict[PlaceOfStep, Moments]] = AnswerCache(100_000, len)


def _moments_of_tokens(run: OpenRun, snapshot: Snapshot, name: str) -> dict[StepKey, Moments]:
    if not snapshot.annotates_discarded:
        return {}
    places, known = _summed_again(run, snapshot, WHOLE_STEP), _summed_again(run, snapshot, name)
    moments: dict[StepKey, Moments] = defaultdict(Moments)
    for key in {key for _, key in places}:
        launches = (0, snapshot.steps[key].launch)
        for piece in snapshot.holding([key[0]], key[1], key[1]):
            own = [stats for stats in piece.step_stats if (stats.split, stats.step) == key and stats.launch in launches]
            scanned = merged(stats.series[name] for stats in own if name in stats.series)
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
        raise names.unknown("token series", name, series_names)
    snapshot = run.snapshot()
    again = _moments_of_tokens(run, snapshot, name)

    def of(stats: StepStats) -> Moments:
        return again.get((stats.split, stats.step), stats.series.get(name, NONE))

    parts = ((key, [m for stats in members if (m := of(stats)).count]) for key, members in _members(snapshot, split))
    return [SeriesPoint(*key, stats_of(merged(each), sum(m.count for m in each))) for key, each in parts if each]


def needs_tokens(run: OpenRun, name: str) -> bool:
    """True for a token series for which the pass over tokens, unlike the scan, knows which samples count."""
    return run.snapshot().annotates_discarded and name in token_series_names(run)
