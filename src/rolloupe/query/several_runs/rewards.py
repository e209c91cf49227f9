"""The mean reward of each prompt at each step of a run, for comparisons of runs that answer the same prompts."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.index import OpenRun
from rolloupe.query.engine import caches, database, relation
from rolloupe.query.engine.compile import discard_overlay

MOST_MEANS = 2_000_000
"""The most prompts of all steps together; the first steps of a longer run are left out."""

MEANS = f"""
SELECT step, coalesce(prompt_hash, 0), {relation.mean_of("reward")}, count(reward) FILTER (isfinite(reward))
FROM rows WHERE list_contains(?, split) AND isfinite(reward) GROUP BY ALL ORDER BY step DESC LIMIT {MOST_MEANS + 1}
"""


class PromptMeans(NamedTuple):
    """Columns of equal length: a row for each prompt at each step, in ascending order of the steps."""

    steps: NDArray[np.int64]
    prompts: NDArray[np.int64]
    """Hashes of the prompts; 0 for a sample without one."""
    means: NDArray[np.float64]
    """Means of the finite rewards of all generated samples, discarded ones included."""
    counts: NDArray[np.int64]

    def rows(self, chosen: NDArray[Any]) -> "PromptMeans":
        """Return some of the rows."""
        return PromptMeans(*(column[chosen] for column in self))  # type: ignore[pyrefly:bad-argument-type]


_cache: caches.AnswerCache[PromptMeans] = caches.AnswerCache(128 * 2**20, caches.bytes_of)


def prompt_means(run: OpenRun, splits: Sequence[str]) -> PromptMeans:
    """Return the mean reward of each prompt at each step of some splits together; empty for unknown splits."""
    snapshot = run.snapshot()

    def make() -> PromptMeans:
        question = database.Question(snapshot.holding(splits), MEANS, [[*splits]], overlay=discard_overlay(snapshot))
        means = PromptMeans(*(column.to_numpy()[::-1] for column in database.table(run, question).columns))
        if len(means.steps) <= MOST_MEANS:
            return means
        return means.rows(means.steps > means.steps[0])  # the first step may lack some of its prompts

    return _cache.get(run, snapshot, tuple(splits), make)
