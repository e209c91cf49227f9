"""Shares of the groups of a step by the rewards in them: all the best, all the worst, without spread, mixed."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from rolloupe.index import OpenRun, Snapshot, StepKey
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.database import NO_OVERLAY, Question
from rolloupe.query.engine.names import is_annotated
from rolloupe.query.engine.relation import AnnotationOverlay
from rolloupe.query.near_names import unknown

KEPT_STEPS = 1_000_000


class Share(NamedTuple):
    """What a share of groups is called."""

    title: str
    about: str


SHARES = {
    "all_best": Share("All right", "groups in which every sample has the highest reward"),
    "all_worst": Share("All wrong", "groups in which every sample has the lowest reward"),
    "without_spread": Share("Without spread", "groups in which all samples have the same reward"),
    "mixed": Share("Mixed", "groups whose samples have different rewards"),
}
"""Highest and lowest are those that the run declares, else 1 and 0. A group of one sample is in none of them."""

_SQL = """
SELECT split, step, count(*), sum((low >= ?)::INTEGER), sum((high <= ?)::INTEGER), sum((low = high)::INTEGER)
FROM (
  SELECT split, step, grp, min(reward) AS low, max(reward) AS high FROM rows
  WHERE isfinite(reward) GROUP BY split, step, grp HAVING count(*) > 1
) GROUP BY split, step
"""


class GroupCounts(NamedTuple):
    """Of the groups with several rewards: their number by step, and by share how many there are."""

    groups: Mapping[StepKey, int]
    by_share: Mapping[str, Mapping[StepKey, int]]


_counts: AnswerCache[GroupCounts] = AnswerCache(KEPT_STEPS, lambda one: 5 * len(one.groups))


def group_counts(run: OpenRun, name: str) -> tuple[Mapping[StepKey, int], Mapping[StepKey, int]]:
    """Return the number of groups of each step, and of those in a share. Raises `BadQuery` for another name."""
    if name not in SHARES:
        raise unknown("share of groups", name, SHARES)
    snapshot = run.snapshot()
    found = _counts.get(run, snapshot, None, lambda: _count(run, snapshot))
    return found.groups, found.by_share[name]


def _count(run: OpenRun, snapshot: Snapshot) -> GroupCounts:
    groups: Counter[StepKey] = Counter()
    by_share: dict[str, Counter[StepKey]] = {name: Counter() for name in SHARES}
    pieces = snapshot.holding()
    low, high = run.info.reading.reward_range or run.info.reward_range or (0.0, 1.0)
    overlay = AnnotationOverlay(snapshot.annotations, ["reward"]) if is_annotated(snapshot, ["reward"]) else NO_OVERLAY
    question = Question(pieces, _SQL, [high, low], overlay=overlay)
    for split, step, count, best, worst, flat in database.ask(run, question) if pieces else ():
        counts = {"all_best": best, "all_worst": worst, "without_spread": flat, "mixed": count - flat}
        groups[split, step] += count
        for name, one in counts.items():
            by_share[name][split, step] += one
    return GroupCounts(groups, by_share)
