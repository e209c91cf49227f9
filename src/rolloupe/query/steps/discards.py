"""Discarded samples, which were generated but not trained on: counts for each step and reason."""

import math
from collections import Counter

from msgspec import Struct

from rolloupe.index import OpenRun, StepKey
from rolloupe.query.engine import database
from rolloupe.query.engine.caches import AnswerCache
from rolloupe.query.engine.compile import discard_overlay
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import is_asked
from rolloupe.query.records import Discards
from rolloupe.questions import DiscardQuery

KEPT = 1_000_000  # number of counts of steps and reasons to cache

COUNTED = """
SELECT split, step, discarded, count(*), count(DISTINCT grp),
       count(*) FILTER (status IN ('aborted', 'error') AND response_chars = 0)
FROM rows WHERE discarded <> '' GROUP BY split, step, discarded ORDER BY split <> 'train', split, step, discarded
"""

_cache: AnswerCache[list[Discards]] = AnswerCache(KEPT, len)


def discards(run: OpenRun, split: str | None = None) -> list[Discards]:
    """Return counts of discarded samples by split, step and reason; `eval` covers all evaluations together."""
    counts: dict[tuple[str, int, str], Discards] = {}
    for discard in _all(run):
        if is_asked(discard.split, split):
            place = split or discard.split, discard.step, discard.reason
            count = counts.get(place, Discards(*place, 0, 0, 0))
            sums = (a + b for a, b in zip(count[3:], discard[3:], strict=True))
            counts[place] = Discards(*place, *sums)
    return [counts[place] for place in sorted(counts, key=lambda place: (place[0] != "train", *place))]


class RunDiscards(Struct, frozen=True, kw_only=True):
    """Parallel columns, one entry for each step and reason, by step.

    `unfinished` of the samples were cancelled or failed: they have no answer to read.
    """

    split: str
    reasons: list[str]
    steps: list[int]
    samples: list[int]
    groups: list[int]
    unfinished: list[int]


def discards_answer(run: OpenRun, asked: DiscardQuery) -> RunDiscards:
    """Return the discarded samples of a split, in columns."""
    columns = list(zip(*discards(run, asked.split), strict=True)) or [()] * 6
    _, steps, reasons, samples, groups, unfinished = map(list, columns)
    return RunDiscards(
        split=asked.split, reasons=reasons, steps=steps, samples=samples, groups=groups, unfinished=unfinished
    )


def discarded_by_step(run: OpenRun) -> dict[StepKey, int]:
    """Counts of discarded samples by step. Looks at samples only if annotations record discards."""
    snapshot = run.snapshot()
    if not snapshot.annotates_discarded:
        return {key: count for key, stats in snapshot.steps.items() if (count := sum(stats.discarded.values()))}
    counts: Counter[StepKey] = Counter()
    for discard in _all(run):
        counts[discard.split, discard.step] += discard.samples
    return dict(counts)


def discarded_among(run: OpenRun, split: str, step_min: int | None, step_max: int | None) -> str:
    """Say in a sentence how many samples of some steps were discarded and count as well; empty for none."""
    low, high = -math.inf if step_min is None else step_min, math.inf if step_max is None else step_max
    by_step, steps = discarded_by_step(run), run.snapshot().steps
    inside = [key for key in steps if is_asked(key[0], split) and low <= key[1] <= high]
    count = sum(by_step.get(key, 0) for key in inside)
    words = f"{count:,} {'was' if count == 1 else 'were'} discarded, and {'counts' if count == 1 else 'count'} as well."
    return f"Of {sum(steps[key].rows for key in inside):,} samples {words}" if count else ""


def _all(run: OpenRun) -> list[Discards]:
    snapshot = run.snapshot()
    if not snapshot.has_discarded:
        return []
    question = Question(snapshot.holding(), COUNTED, overlay=discard_overlay(snapshot))
    return _cache.get(run, snapshot, None, lambda: [Discards(*counts) for counts in database.ask(run, question)])
