"""The correlation of the reward with another number of the samples of a step."""

import math
from collections.abc import Iterator, Sequence

from rolloupe.index import OpenRun, Piece
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.steps.summaries import trained_column

KEPT_STEPS = 1_000_000

_correlations: StepAnswers[float] = StepAnswers(KEPT_STEPS)


def correlations(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, float]:
    """Return Pearson's r of the reward and a number, over the trained samples of each step that match a filter.

    Samples count that have a finite value of both. A step has no value where one of the two is the same in all
    samples. Raises `BadQuery` for an unknown name.
    """
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, name, where, beside=["reward"])
    sql = f"""
    {column.own} SELECT step, corr(reward, {column.value}) FROM {column.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({column.value}) AND isfinite(reward) AND discarded = ''
    GROUP BY step"""

    def ask(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, float]]:
        question = Question(pieces, sql, [*column.values, list(splits)], column.named, overlay=column.overlay)
        return ((step, math.nan if r is None else r) for step, r in database.ask(run, question))

    is_overlaid = bool(column.overlay.pieces)
    found = _correlations.get(run, snapshot, split, (name, where), ask, overlaid=is_overlaid, later=column.later)
    return {step: r for step, r in found.items() if not math.isnan(r)}
