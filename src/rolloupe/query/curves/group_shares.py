"""Shares of the groups of a step by the rewards in them: all the best, all the worst, without spread, mixed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rolloupe.index import OpenRun, Piece
from rolloupe.model import RunInfo
from rolloupe.query.engine import database
from rolloupe.query.engine.database import NO_OVERLAY, Question
from rolloupe.query.engine.names import is_annotated
from rolloupe.query.engine.relation import AnnotationOverlay
from rolloupe.query.engine.row_filter import matching
from rolloupe.query.engine.step_answers import StepAnswers
from rolloupe.query.evals.grader import Bar, bar_of
from rolloupe.tokens.groups import EQUAL

KEPT_STEPS = 1_000_000


class Share(NamedTuple):
    """What a share of groups is called."""

    title: str
    about: str


SHARES = {
    "all_best": Share(
        "All right",
        "groups in which every sample, discarded ones too, has the highest reward that the run declares (for its "
        "environment), else 1 or more",
    ),
    "all_worst": Share(
        "All wrong",
        "groups in which every sample, discarded ones too, has the lowest reward that the run declares (for its "
        "environment), else 0 or less",
    ),
    "without_spread": Share(
        "Without spread", "groups in which all samples, discarded ones too, have the same reward, within a millionth"
    ),
    "mixed": Share("Mixed", "groups whose samples, discarded ones too, have different rewards"),
}
"""All samples count, whether they were trained on or not, for a trainer compares all.

Highest and lowest are those that the run declares, of the environment where it says so, else 1 and 0. A group of one
sample is in none of them."""

_SQL = """
{own}
SELECT step, count(*), sum({best}::INTEGER), sum({worst}::INTEGER),
       sum((high - low <= {equal} * greatest(abs(low), abs(high)))::INTEGER)
FROM (
  SELECT split, step, grp, any_value(env) AS env, min(reward) AS low, max(reward) AS high FROM {table}
  WHERE isfinite(reward) AND split IN (SELECT unnest(?)) GROUP BY split, step, grp HAVING count(*) > 1
) GROUP BY step
"""


class GroupCounts(NamedTuple):
    """Of the groups of a step with several rewards: their number, and the numbers in each share."""

    groups: int
    all_best: int
    all_worst: int
    without_spread: int

    @property
    def mixed(self) -> int:
        """Groups with different rewards."""
        return self.groups - self.without_spread


_counts: StepAnswers[GroupCounts] = StepAnswers(KEPT_STEPS)


def group_counts(run: OpenRun, split: str, where: str = "") -> Mapping[int, GroupCounts]:
    """Count the groups of each step that have several rewards, of samples that match a filter."""
    snapshot = run.snapshot()
    overlay = AnnotationOverlay(snapshot.annotations, ["reward"]) if is_annotated(snapshot, ["reward"]) else NO_OVERLAY
    matches = matching(snapshot, where, ["reward"])
    overlay = matches.overlay if matches.own else overlay
    best, worst = bar_of(run, "reward", None).sql("low"), _worst(run.info).sql("high")
    sql = _SQL.format(own=matches.own, table=matches.table, best=best, worst=worst, equal=EQUAL)

    def count(pieces: Sequence[Piece], splits: Sequence[str]) -> Iterator[tuple[int, GroupCounts]]:
        question = Question(pieces, sql, [*matches.values, list(splits)], matches.named, overlay=overlay)
        return ((step, GroupCounts(*counts)) for step, *counts in database.ask(run, question))

    return _counts.get(run, snapshot, split, (sql, where), count, overlaid=bool(overlay.pieces), later=matches.later)


def _worst(info: RunInfo) -> Bar:
    """The lowest reward; what is no higher is as bad as can be."""
    low, _ = info.reading.reward_range or info.reward_range or (0.0, 1.0)
    by_env = () if info.reading.reward_range else tuple((env, least) for env, least, _ in info.env_reward_ranges)
    return Bar(low, by_env, falls=True)
