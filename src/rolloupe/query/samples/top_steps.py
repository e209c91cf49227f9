"""Which steps hold the first samples of a list that a number sorts: told by the extremes that the index keeps of each.

Of the `want` steps with the best extremes each has one sample at least that is as good. So no step whose best is worse
than theirs has any of the first `want` samples, and a page at the top of a run of any size is asked of few steps.
"""

from collections.abc import Sequence
from math import inf

from rolloupe.index import Snapshot, StepKey
from rolloupe.index.segments.columns import MAX_METRICS, Meant
from rolloupe.index.segments.step_stats import Moments, Sketch
from rolloupe.query.engine.names import is_annotated, meaning
from rolloupe.query.records import SampleQuery

WORTH = 0.5
"""Where more than this part of the samples would be looked at, all are."""


def foremost(snapshot: Snapshot, query: SampleQuery, keys: Sequence[StepKey], want: int) -> list[StepKey] | None:
    """Those of `keys` (in the order in which ties stand) that hold the first `want` samples; None where it is not told.

    The query has no conditions but splits, steps and whether samples were trained on.
    """
    by = meaning(snapshot, query.sort)
    if by is None or query.trained is False or len(snapshot.metrics) >= MAX_METRICS:
        return None
    if is_annotated(snapshot, [by.column, "discarded"]):
        return None
    sign = 1.0 if query.descending else -1.0
    best = [_best(snapshot.steps[key], query, by, sign) for key in keys]
    witnesses = sorted((told for told, _ in best if told > -inf), reverse=True)
    if len(witnesses) < want:
        return None
    bar = witnesses[want - 1]
    tied = want - sum(told > bar for told, _ in best)
    found = []
    for key, (told, most) in zip(keys, best, strict=True):
        is_tied = told == most == bar
        if most > bar or (is_tied and tied > 0):
            found.append(key)
            tied -= is_tied
    rows = sum(snapshot.steps[key].rows for key in keys)
    return found if sum(snapshot.steps[key].rows for key in found) <= WORTH * rows else None


def _best(sketch: Sketch, query: SampleQuery, by: Meant, sign: float) -> tuple[float, float]:
    """What some sample of a step has for certain, and what none goes beyond, both the better the greater."""
    known = sketch.columns if by.kind == "fixed" else sketch.metrics
    moments: Moments | None = known.get(by.name)
    told = -inf if moments is None or not moments.count else sign * (moments.max if sign > 0 else moments.min)
    is_whole = query.trained or not sketch.discarded  # moments are over the samples that were trained on
    return told, told if is_whole else inf
