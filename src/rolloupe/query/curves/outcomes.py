"""Lengths and numbers of right and wrong answers by step."""

from collections.abc import Mapping
from typing import NamedTuple

from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.compile import overlay_of
from rolloupe.query.engine.database import Question
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


_outcomes: AnswerCache[Mapping[StepKey, Outcome]] = AnswerCache(KEPT_STEPS, len)


def outcomes(run: OpenRun, split: str, name: str) -> dict[int, float]:
    """Return one of `NAMES` by step. Raises `BadQuery` for another name."""
    if name not in NAMES:
        raise unknown("outcome", name, NAMES)
    snapshot = run.snapshot()
    found = _outcomes.get(run, snapshot, split, lambda: _count(run, snapshot, split))
    values = ((step, getattr(one, name)) for (_, step), one in found.items())
    return {step: value for step, value in values if value is not None}


def _count(run: OpenRun, snapshot: Snapshot, split: str) -> dict[StepKey, Outcome]:
    judge = judge_of(run, split)
    value, named = value_of(snapshot, judge.metric)
    right = judge.bar.sql(value)
    sql = f"""
    SELECT step, count(*) FILTER ({right}), count(*) FILTER (NOT {right}),
           avg(response_tokens) FILTER ({right}), avg(response_tokens) FILTER (NOT {right})
    FROM rows WHERE split = ? AND isfinite({value}::DOUBLE) GROUP BY step"""
    pieces = snapshot.holding([split])
    question = Question(pieces, sql, [split], named, overlay=overlay_of(snapshot, [judge.metric]))
    return {(split, step): Outcome(*rest) for step, *rest in (database.ask(run, question) if pieces else ())}
