"""Lengths and numbers of right and wrong answers by step."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rolloupe.index import OpenRun, Piece
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import overlay_of
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.row_filter import matching
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.evals.correctness import value_of
from rolloupe.query.evals.grader import judge_of
from rolloupe.query.near_names import unknown

KEPT_STEPS = 1_000_000
NAMES = ("length_right", "length_wrong", "right", "wrong")
"""Mean response tokens of right and wrong answers, and their numbers."""


class Outcome(NamedTuple):
    """Right and wrong answers of a step."""

    right: int
    wrong: int
    length_right: float | None
    length_wrong: float | None


_outcomes: StepAnswers[Outcome] = StepAnswers(KEPT_STEPS)


def outcomes(run: OpenRun, split: str, name: str, where: str = "") -> dict[int, float]:
    """Return one of `NAMES` by step, of the samples that match a filter. Raises `BadQuery` for another name."""
    if name not in NAMES:
        raise unknown("outcome", name, NAMES)
    snapshot = run.snapshot()
    judge = judge_of(run, split)
    value, named = value_of(snapshot, judge.metric)
    matches = matching(snapshot, where, [judge.metric])
    overlay = matches.overlay if matches.own else overlay_of(snapshot, [judge.metric])
    named = list(dict.fromkeys([*named, *matches.named]))
    right = judge.bar.sql(value)
    sql = f"""
    {matches.own} SELECT step, count(*) FILTER ({right}), count(*) FILTER (NOT {right}),
           avg(response_tokens) FILTER ({right}), avg(response_tokens) FILTER (NOT {right})
    FROM {matches.table} WHERE split IN (SELECT unnest(?)) AND isfinite({value}::DOUBLE) GROUP BY step"""

    def count(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, Outcome]]:
        question = Question(pieces, sql, [*matches.values, list(splits)], named, overlay=overlay)
        return ((step, Outcome(*rest)) for step, *rest in database.ask(run, question))

    found = _outcomes.get(run, snapshot, split, (sql, where), count, overlaid=bool(overlay.pieces), later=matches.later)
    values = ((step, getattr(one, name)) for step, one in found.items())
    return {step: value for step, value in values if value is not None}
