"""A step has far fewer samples than its neighbours."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule, enough
from rolloupe.insight.curves import HasCurves
from rolloupe.tokens import Floats

SHARE, EVEN, MOST = 0.5, 0.9, 0.7
NEAR, WIDE = 5, 50
"""So many steps before and after it are those around a step, nearby and farther."""


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare each step but the last, which may be going on, with those around it."""
    steps, values = enough(source.curve("samples", ""), NEAR + 2, "samples")
    for at in np.flatnonzero(values[:-1] < SHARE * values.max()).tolist():
        usual = _usual(values, at, NEAR)
        if values[at] < SHARE * min(usual, _usual(values, at, WIDE)) and not _ends_epoch(values, at):
            step = int(steps[at])
            yield Alarm(
                f"Step {step} has {values[at]:,.0f} samples", f"the steps around it have {usual:,.0f}", step, step
            )


def _usual(values: Floats, at: int, far: int) -> float:
    """The number of samples that most steps around a step have; 0 where they differ."""
    around = np.concatenate([values[max(0, at - far) : at], values[at + 1 : at + 1 + far]])
    usual = float(np.median(around))
    return usual if np.mean(np.abs(around - usual) < (1 - EVEN) * usual) >= MOST else 0.0


def _ends_epoch(values: Floats, at: int) -> bool:
    """Tell whether the same few samples come again and again after as many steps: the last batch of each epoch."""
    same = np.flatnonzero(values == values[at])
    return len(same) > 1 and len({*np.diff(same, prepend=-1)}) == 1


RULES = (Rule(
    "lost_samples", "Steps that lost samples",
    f"a step has less than {SHARE:.0%} of the median samples of the {2 * NEAR} steps around it, and of {2 * WIDE}, of "
    f"which {MOST:.0%} or more lie within {1 - EVEN:.0%} of it; steps of one size at equal distances end epochs",
    look, "error",
),)  # fmt: skip
