"""One prompt at all steps of a run: the index knows it by a hash (`problem`), so that no text is looked at.

Groups have other names at other steps, and prompts have not; two runs know a prompt that is the same to the letter by
the same number. Counts and means are over all that was generated, discarded samples included: a group that was thrown
away because all of it was right is part of how answers changed.
"""

from typing import NamedTuple

from rolloupe.errors import NotFound
from rolloupe.index import OpenRun, Snapshot
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.cache import AnswerCache
from rolloupe.query.engine.compile import FILE_ORDER, said_discarded
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import mean_of
from rolloupe.query.records import Stats

MOST = 5000
KEPT = 50_000
"""Steps of prompts that are kept."""


class Recurrence(NamedTuple):
    """The answers to a prompt at a step of a split; `key` is the first of them."""

    key: SampleKey
    groups: int
    samples: int
    discarded: int
    reward: Stats
    response_tokens: float | None
    """Mean over the samples that tell it."""


WHICH = "SELECT problem FROM rows WHERE split = ? AND step = ? AND grp = ? AND idx = ? LIMIT 1"

FOUND = f"""
SELECT split, step, arg_min(grp, row({FILE_ORDER})), arg_min(idx, row({FILE_ORDER})), count(DISTINCT grp), count(*),
       count(*) FILTER (discarded <> ''), avg(response_tokens), count(reward) FILTER (isfinite(reward)),
       {mean_of("reward")}, stddev_pop(reward) FILTER (isfinite(reward)),
       min(reward) FILTER (isfinite(reward)), max(reward) FILTER (isfinite(reward))
FROM rows WHERE problem = ? GROUP BY split, step ORDER BY split <> 'train', split, step LIMIT {MOST + 1}
"""

_kept: AnswerCache[list[Recurrence]] = AnswerCache(KEPT, len)


def problem_of(run: OpenRun, key: SampleKey) -> int:
    """The number by which the prompt of a sample is known. Raises `NotFound` where there is no such sample."""
    pieces = run.snapshot().holding([key.split], key.step, key.step)
    answer = database.ask(run, Question(pieces, WHICH, [*key.shared])) if pieces else []
    if not answer:
        raise NotFound(f"no sample {key} in run {run.id!r}. Next: see the list of its samples")
    problem: int = answer[0][0]
    return problem


def recurring(run: OpenRun, problem: int) -> list[Recurrence]:
    """Where a prompt was answered: by split, `train` first, and step; `MOST`, and one more where there are more.

    One pass over eight bytes a sample, whose answer is kept while the run stays as it is.
    """
    snapshot = run.snapshot()
    return _kept.get(run, snapshot, problem, lambda: _found(run, snapshot, problem))


def _found(run: OpenRun, snapshot: Snapshot, problem: int) -> list[Recurrence]:
    pieces = snapshot.holding()
    sql = FOUND
    question = Question(pieces, sql, [problem], said=said_discarded(snapshot))
    return [_recurrence(record) for record in database.ask(run, question)] if pieces else []


def _recurrence(record: tuple[object, ...]) -> Recurrence:
    split, step, group, index, groups, samples, discarded, tokens, count, mean, std, low, high = record
    assert isinstance(split, str) and isinstance(step, int) and isinstance(group, str) and isinstance(index, str)
    assert isinstance(samples, int) and isinstance(count, int)
    reward = Stats(count, mean, std, low, high, samples - count)  # type: ignore[arg-type]
    return Recurrence(SampleKey(split, step, group, index), groups, samples, discarded, reward, tokens)  # type: ignore[arg-type]
