"""A step has far fewer samples than its neighbours."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves

SHARE, NEAR, EVEN, MOST = 0.5, 5, 0.9, 0.7


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare each step but the last, which may be going on, with those around it."""
    counts = source.curve("samples", "")
    if counts is None or len(counts) < NEAR + 2:
        return
    values = counts.values
    for at in range(len(counts) - 1):
        around = np.concatenate([values[max(0, at - NEAR) : at], values[at + 1 : at + 1 + NEAR]])
        usual = float(np.median(around))
        if values[at] < SHARE * usual and np.mean(np.abs(around - usual) < (1 - EVEN) * usual) >= MOST:
            step = int(counts.steps[at])
            yield Alarm(
                f"Step {step} has {values[at]:,.0f} samples", f"the steps around it have {usual:,.0f}", step, step
            )


RULE = Rule(
    "lost_samples", "Steps that lost samples",
    f"a step has less than {SHARE:.0%} of the median samples of the {2 * NEAR} steps around it, of which {MOST:.0%} or "
    f"more lie within {1 - EVEN:.0%} of this median",
    look, "error",
)  # fmt: skip
