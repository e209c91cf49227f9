"""Statistics of a sample metric by step, over the samples that match a filter."""

from collections.abc import Iterator, Sequence

from rolloupe.index import OpenRun, Piece
from rolloupe.index.segments.step_stats import moments_from
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import deviation_of, mean_of
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.records import SeriesPoint, Stats
from rolloupe.query.steps.summaries import sample_points, stats_of, trained_column

KEPT_STEPS = 1_000_000

_stats: StepAnswers[Stats] = StepAnswers(KEPT_STEPS)


def matching_points(run: OpenRun, name: str, split: str, where: str) -> list[SeriesPoint]:
    """Return statistics of the trained samples of a split that match a filter; all of them match a blank one.

    A step without such samples has no point. Raises `BadQuery` for unknown names.
    """
    if not where:
        return sample_points(run, name, split)
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, name, where)
    value = column.value
    sql = f"""
    {column.own} SELECT step, count(*), count({value}) FILTER (isfinite({value})), {mean_of(value)},
           {deviation_of(value)}, min({value}) FILTER (isfinite({value})), max({value}) FILTER (isfinite({value}))
    FROM {column.table} WHERE split IN (SELECT unnest(?)) AND discarded = '' GROUP BY step"""

    def ask(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, Stats]]:
        question = Question(pieces, sql, [*column.values, list(splits)], column.named, overlay=column.overlay)
        answer = database.ask(run, question)
        return ((step, stats_of(moments_from(*numbers), rows)) for step, rows, *numbers in answer if numbers[0])

    is_overlaid = bool(column.overlay.pieces)
    by_step = _stats.get(run, snapshot, split, (name, where), ask, overlaid=is_overlaid, later=column.later)
    return [SeriesPoint(split, step, stats) for step, stats in by_step.items()]
