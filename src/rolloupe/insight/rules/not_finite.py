"""A metric of the trainer is no finite number at some steps."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves
from rolloupe.insight.names import CurveName

SHARE = 0.5


def look(source: HasCurves) -> Iterator[Alarm]:
    """Look for NaN and infinities in metrics that usually are finite."""
    bad: dict[int, list[str]] = {}
    for name in source.names("trainer"):
        curve = source.curve("trainer", name)
        if curve is None:
            continue
        is_bad = ~np.isfinite(curve.values)
        if 0 < is_bad.mean() <= SHARE:
            for step in curve.steps[is_bad].tolist():
                bad.setdefault(step, []).append(name)
    if bad:
        steps = sorted(bad)
        names = list(dict.fromkeys(name for step in steps for name in bad[step]))
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        count = f"{len(steps)} step{'s' if len(steps) > 1 else ''}"
        curves = tuple(CurveName("trainer", name) for name in names)
        yield Alarm(f"NaN or infinite at {count}, first at {steps[0]}", shown, steps[0], steps[-1], curves=curves)


RULE = Rule(
    "not_finite",
    "NaN",
    f"a metric of the trainer that is finite at {SHARE:.0%} of its steps or more is not at some",
    look,
    "error",
)
