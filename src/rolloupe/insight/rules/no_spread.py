"""Many groups have no spread: nothing is learned from them."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule, enough
from rolloupe.insight.curves import CurveName, HasCurves
from rolloupe.tokens.series import EQUAL

SHARE, STEPS = 0.5, 10

ZERO = f"advantage >= -{EQUAL:g} and advantage <= {EQUAL:g}"
"""The filter of samples without an advantage."""


def look(source: HasCurves) -> Iterator[Alarm]:
    """Look at the groups of the last steps: few groups a step are a matter of luck."""
    flat = enough(source.curve("group", "without_spread"), STEPS, "groups of several rewards")
    count = max(STEPS, len(flat) // 5)
    share = float(np.mean(flat.values[-count:]))
    if share < SHARE:
        return
    parts = []
    for name, words in (("all_best", "all right"), ("all_worst", "all wrong")):
        curve = source.curve("group", name)
        if curve is not None:
            parts.append(f"{words} {float(np.mean(curve.values[-count:])):.0%}")
    yield Alarm(
        f"{share:.0%} of the groups have no spread",
        f"mean of the last {count} steps: {', '.join(parts)}; nothing is learned from such groups",
        int(flat.steps[-count]), int(flat.steps[-1]),
        where=ZERO if source.curve("sample", "advantage", "mean") is not None else "",
        curves=(CurveName("group", "without_spread"),),
    )  # fmt: skip


RULES = (
    Rule(
        "no_spread",
        "Groups without spread",
        f"in the mean of the last fifth of the steps, {STEPS} or more, {SHARE:.0%} of the groups or more",
        look,
    ),
)
