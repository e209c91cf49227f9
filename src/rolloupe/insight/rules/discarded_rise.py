"""More and more samples are discarded."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.curves import HasCurves, History
from rolloupe.insight.names import CurveName
from rolloupe.insight.too_little import enough
from rolloupe.query import quoted

LEAST, TIMES, RISE, ERRORS = 15, 2.0, 0.25, 3.0
MAIN, NAMED = 0.8, 3
"""A reason is the main one if it makes up so much of the rise; so many reasons are named."""


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the steps with the fifth before it that discarded least."""
    shares = enough(source.curve("share", "discarded"), LEAST, "samples")
    width = len(shares) // 5
    windows = np.lib.stride_tricks.sliding_window_view(shares.values, width)
    means, errors = windows.mean(axis=1), windows.std(axis=1) / width**0.5
    least = int(means[:-width].argmin())
    low, late = float(means[least]), float(means[-1])
    if late <= TIMES * low or late - low <= RISE + ERRORS * float(np.hypot(errors[least], errors[-1])):
        return
    later = shares.at(slice(least + width, None))
    first = int(later.steps[later.values > (low + late) / 2][0])
    reasons = _reasons(source, shares, least, width)
    main = next((name for name, rise in reasons.items() if rise > MAIN * (late - low)), "")
    first_low, last_low = (int(shares.steps[at]) for at in (least, least + width - 1))
    yield Alarm(
        f"Discarded samples rise to {late:.0%}",
        f"of all samples of the last {width} steps; {low:.0%} in steps {first_low} to {last_low}{_named(reasons)}",
        first, int(shares.steps[-1]),
        where=f"discarded = {quoted(main)}" if main else "not discarded is null",
        curves=(CurveName("share", "discarded"),), discarded=True,
    )  # fmt: skip


def _reasons(source: HasCurves, shares: History, least: int, width: int) -> dict[str, float]:
    """By how much the share of each reason rose, those that rose most first."""
    rises = {}
    for name in source.names("reason"):
        of = source.curve("share", "discarded", reason=name)
        if of is not None and len(of) == len(shares):
            rises[name] = float(of.values[-width:].mean() - of.values[least : least + width].mean())
    return dict(sorted(rises.items(), key=lambda one: -one[1]))


def _named(reasons: dict[str, float]) -> str:
    rose = [f"{name} {rise:+.0%}" for name, rise in reasons.items() if rise >= 0.01][:NAMED]
    return f"; reasons: {', '.join(rose)}" if rose else ""


RULE = Rule(
    "discarded_rise", "More samples discarded",
    f"the mean share of discarded samples in the last fifth of {LEAST} steps or more is {TIMES:g} times that of the "
    f"fifth that discarded least before, and {RISE:.0%} more, by {ERRORS:g} standard errors",
    look,
)  # fmt: skip
