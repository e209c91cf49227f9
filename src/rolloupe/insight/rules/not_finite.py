"""A metric of the trainer is no finite number at some steps."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves
from rolloupe.insight.names import CurveName

SHARE, LEAST = 0.5, 3


def look(source: HasCurves) -> Iterator[Alarm]:
    """Look for NaN and infinities in metrics that usually are finite."""
    bad: dict[int, list[str]] = {}
    for name in source.names("trainer"):
        curve = source.curve("trainer", name)
        if curve is None:
            continue
        for step in curve.steps[_unusual(~np.isfinite(curve.values))].tolist():
            bad.setdefault(step, []).append(name)
    if bad:
        steps = sorted(bad)
        names = list(dict.fromkeys(name for step in steps for name in bad[step]))
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        count = f"{len(steps)} step{'s' if len(steps) > 1 else ''}"
        curves = tuple(CurveName("trainer", name) for name in names)
        yield Alarm(f"NaN or infinite at {count}, first at {steps[0]}", shown, steps[0], steps[-1], curves=curves)


def _unusual(is_bad: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The points of a metric that are not finite though it usually is, or was until it was so no more."""
    if is_bad.mean() <= SHARE:
        return is_bad
    finite = np.flatnonzero(~is_bad)
    unusual = np.zeros_like(is_bad)
    if len(finite) >= LEAST and is_bad[finite[0] : finite[-1]].mean() <= SHARE and is_bad[-1]:
        unusual[finite[0] :] = is_bad[finite[0] :]
    return unusual


RULE = Rule(
    "not_finite",
    "NaN",
    f"a metric of the trainer that is finite at {SHARE:.0%} of its steps or more is not at some, or one that was so, "
    f"at {LEAST} steps or more, never is again",
    look,
    "error",
)
