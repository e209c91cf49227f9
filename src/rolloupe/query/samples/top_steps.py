"""The steps that hold the first samples of a list sorted by a number, from the extremes in the index.

Each of the `want` steps with the best extremes has at least one sample that good. So no step with a worse best value
has any of the first `want` samples, and a page at the top of a run of any size takes few steps.
"""

from collections.abc import Sequence
from math import inf

from rolloupe.index import Snapshot, StepKey
from rolloupe.index.segments.columns import MAX_METRICS, ColumnRef
from rolloupe.index.segments.step_stats import StepStats
from rolloupe.query.engine.names import is_annotated, reference
from rolloupe.query.records import SampleQuery
from rolloupe.query.steps.summaries import moments_by_kind

WORTH = 0.5
"""If candidates exceed this share of the samples, all samples are searched."""


def top_steps(snapshot: Snapshot, query: SampleQuery, keys: Sequence[StepKey], want: int) -> list[StepKey] | None:
    """Those of `keys` (in tie order) that hold the first `want` samples; None if the extremes do not decide it.

    The query has no conditions but splits, steps and `trained`.
    """
    by = reference(snapshot, query.sort)
    if by is None or query.trained is False or len(snapshot.metrics) >= MAX_METRICS:
        return None
    if is_annotated(snapshot, [by.column, "discarded"]):
        return None
    if by.kind == "derived" and snapshot.lacking(by.name, keys):
        return None
    sign = 1.0 if query.descending else -1.0
    best = [_best(snapshot.steps[key], query, by, sign) for key in keys]
    witnesses = sorted((witness for witness, _ in best if witness > -inf), reverse=True)
    if len(witnesses) < want:
        return None
    bar = witnesses[want - 1]
    tied = want - sum(witness > bar for witness, _ in best)
    found = []
    for key, (witness, most) in zip(keys, best, strict=True):
        is_tied = witness == most == bar
        if most > bar or (is_tied and tied > 0):
            found.append(key)
            tied -= is_tied
    rows = sum(snapshot.steps[key].rows for key in keys)
    return found if sum(snapshot.steps[key].rows for key in found) <= WORTH * rows else None


def _best(stats: StepStats, query: SampleQuery, by: ColumnRef, sign: float) -> tuple[float, float]:
    """A value that some sample of a step certainly has, and a bound for all; greater is better for both."""
    moments = moments_by_kind(stats, by.kind).get(by.name)
    witness = -inf if moments is None or not moments.count else sign * (moments.max if sign > 0 else moments.min)
    is_whole = query.trained or not stats.discarded  # moments cover the trained samples
    return witness, witness if is_whole else inf
