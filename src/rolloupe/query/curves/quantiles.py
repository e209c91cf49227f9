"""Quantiles of a sample metric by step."""

from collections.abc import Iterator, Mapping, Sequence

from rolloupe.index import OpenRun, Piece
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.steps.summaries import trained_column

QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
"""The shares of samples that have at most this value. Between two samples the quantile is interpolated linearly."""

KEPT_STEPS = 1_000_000

_quantiles: StepAnswers[Sequence[float]] = StepAnswers(KEPT_STEPS)


def quantiles(run: OpenRun, name: str, split: str, where: str = "") -> dict[int, Mapping[str, float]]:
    """Return `QUANTILES` of the finite values of the trained samples that match a filter, by step.

    Raises `BadQuery` for other names.
    """
    snapshot = run.snapshot()
    column = trained_column(run, snapshot, name, where)
    shares = ", ".join(map(repr, QUANTILES.values()))
    sql = f"""
    {column.own} SELECT step, quantile_cont({column.value}, [{shares}]) FROM {column.table}
    WHERE split IN (SELECT unnest(?)) AND isfinite({column.value}) AND discarded = '' GROUP BY step"""

    def ask(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, Sequence[float]]]:
        question = Question(pieces, sql, [*column.values, list(splits)], column.named, overlay=column.overlay)
        return ((step, found) for step, found in database.ask(run, question))

    is_overlaid = bool(column.overlay.pieces)
    by_step = _quantiles.get(run, snapshot, split, (name, where), ask, overlaid=is_overlaid, later=column.later)
    return {step: dict(zip(QUANTILES, found, strict=True)) for step, found in by_step.items()}
