"""The datasets, or environments, that the samples of a split come from."""

from typing import NamedTuple

from rolloupe.index import OpenRun
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import mean_of
from rolloupe.query.splits import is_asked
from rolloupe.query.steps.summaries import trained_column


class DatasetSummary(NamedTuple):
    """The samples of one dataset in a split."""

    name: str
    samples: int
    reward: float | None
    """The mean of the finite rewards of trained samples; None without one."""


def datasets(run: OpenRun, split: str) -> list[DatasetSummary]:
    """Return the datasets that samples of a split name, by name; `eval` covers all evaluations."""
    snapshot = run.snapshot()
    splits = sorted({name for name, _ in snapshot.steps if is_asked(name, split)})
    pieces = snapshot.holding(splits) if splits else []
    if not pieces:
        return []
    reward = trained_column(run, snapshot, "reward", beside=["env"])
    is_counted = f"discarded = '' AND isfinite({reward.value})"
    sql = f"""
    {reward.own} SELECT env, count(*), {mean_of(f"CASE WHEN {is_counted} THEN {reward.value} END")}
    FROM {reward.table} WHERE split IN (SELECT unnest(?)) AND env <> '' GROUP BY env ORDER BY env"""
    question = Question(pieces, sql, [*reward.values, splits], reward.named, overlay=reward.overlay)
    return [DatasetSummary(*one) for one in database.ask(run, question)]
