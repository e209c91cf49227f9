"""How many trained samples of a step have an advantage of zero: nothing is learned from them.

Zero is judged as equal rewards are, from which such advantages come.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rolloupe.index import OpenRun, Piece
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.steps.summaries import trained_column
from rolloupe.tokens.groups import EQUAL

KEPT_STEPS = 1_000_000


class AdvantageCounts(NamedTuple):
    """Of the trained samples of a step with an advantage: those with zero, and all."""

    zero: int
    samples: int


_counts: StepAnswers[AdvantageCounts] = StepAnswers(KEPT_STEPS)


def advantage_counts(run: OpenRun, split: str, where: str = "") -> Mapping[int, AdvantageCounts]:
    """Count by step, of the samples that match a filter."""
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, "advantage", where)
    sql = f"""
    {column.own} SELECT step, count(*) FILTER (abs({column.value}) <= {EQUAL}), count(*) FROM {column.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({column.value}) AND discarded = '' GROUP BY step"""

    def ask(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, AdvantageCounts]]:
        question = Question(pieces, sql, [*column.values, list(splits)], column.named, overlay=column.overlay)
        return ((step, AdvantageCounts(*counts)) for step, *counts in database.ask(run, question))

    is_overlaid = bool(column.overlay.pieces)
    return _counts.get(run, snapshot, split, where, ask, overlaid=is_overlaid, later=column.later)
