"""Many groups have no spread: nothing is learned from them."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves
from rolloupe.insight.names import CurveName

SHARE, STEPS = 0.5, 10


def look(source: HasCurves) -> Iterator[Alarm]:
    """Look at the groups of the last steps."""
    flat = source.curve("group", "without_spread")
    if flat is None or len(flat) < STEPS:
        return
    share = float(np.median(flat.values[-STEPS:]))
    if share < SHARE:
        return
    parts = []
    for name, words in (("all_best", "all right"), ("all_worst", "all wrong")):
        curve = source.curve("group", name)
        if curve is not None:
            parts.append(f"{words} {float(np.median(curve.values[-STEPS:])):.0%}")
    yield Alarm(
        f"{share:.0%} of the groups have no spread",
        f"median of the last {STEPS} steps: {', '.join(parts)}; nothing is learned from such groups",
        int(flat.steps[-STEPS]), int(flat.steps[-1]),
        where="advantage = 0" if source.curve("sample", "advantage", "mean") is not None else "",
        curves=(CurveName("group", "without_spread"),),
    )  # fmt: skip


RULE = Rule(
    "no_spread",
    "Groups without spread",
    f"in the median of the last {STEPS} steps, {SHARE:.0%} of the groups or more",
    look,
)
