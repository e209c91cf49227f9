"""More and more samples are discarded, or many all along."""

from collections.abc import Iterator

import numpy as np

from rolloupe.insight.alarm import Alarm, Rule, enough
from rolloupe.insight.curves import CurveName, HasCurves
from rolloupe.query import quoted
from rolloupe.tokens import Floats

LEAST, TIMES, RISE, ERRORS = 15, 2.0, 0.2, 3.0
WASTE, MOST = 0.25, 0.6
"""So many for other reasons than a lack of spread, so many in all: trainers may well drop what teaches nothing."""
NO_SPREAD = "zero advantage"
MAIN, NAMED = 0.8, 3
"""A reason is the main one if it makes up so much of the share; so many reasons are named."""


def look(source: HasCurves) -> Iterator[Alarm]:
    """Compare the last fifth of the steps with the fifth before it that discarded least."""
    shares = enough(source.curve("share", "discarded"), LEAST, "samples")
    width = len(shares) // 5
    windows = np.lib.stride_tricks.sliding_window_view(shares.values, width)
    means, errors = windows.mean(axis=1), windows.std(axis=1) / width**0.5
    least = int(means[:-width].argmin())
    low, late = float(means[least]), float(means[-1])
    then = f"{low:.0%} in steps {int(shares.steps[least])} to {int(shares.steps[least + width - 1])}"
    curves = _by_reason(source, len(shares))
    now = {name: float(values[-width:].mean()) for name, values in curves.items()}
    last = int(shares.steps[-1])
    if late > TIMES * low and late - low > RISE + ERRORS * float(np.hypot(errors[least], errors[-1])):
        rises = {name: now[name] - float(values[least : least + width].mean()) for name, values in curves.items()}
        later = shares.at(slice(least + width, None))
        first = int(later.steps[later.values > (low + late) / 2][0])
        text = f"of all samples of the last {width} steps; {then}{_named(rises, '+')}"
        yield _alarm(f"Discarded samples rise to {late:.0%}", text, (first, last), _main(rises, late - low))
    elif late >= MOST or sum(share for name, share in now.items() if name.replace("_", " ") != NO_SPREAD) >= WASTE:
        text = f"in the last {width} steps; at best {then}{_named(now)}"
        first = int(shares.steps[-width])
        yield _alarm(f"{late:.0%} of the samples are discarded", text, (first, last), _main(now, late))


def _alarm(title: str, text: str, steps: tuple[int, int], main: str) -> Alarm:
    where = f"discarded = {quoted(main)}" if main else "not discarded is null"
    curves = (CurveName("share", "discarded"),)
    return Alarm(title, text, *steps, where=where, curves=curves, discarded=True)


def _by_reason(source: HasCurves, count: int) -> dict[str, Floats]:
    """The share of each reason at all steps."""
    curves = {name: source.curve("share", "discarded", reason=name) for name in source.names("reason")}
    return {name: curve.values for name, curve in curves.items() if curve is not None and len(curve) == count}


def _main(shares: dict[str, float], whole: float) -> str:
    """The reason that makes up most; empty for none."""
    return next((name for name, share in shares.items() if share > MAIN * whole), "")


def _named(shares: dict[str, float], sign: str = "") -> str:
    most = sorted(shares.items(), key=lambda one: -one[1])[:NAMED]
    named = [f"{name} {share:{sign}.0%}" for name, share in most if share >= 0.01]
    return f"; reasons: {', '.join(named)}" if named else ""


RULES = (Rule(
    "discarded_rise", "Many or more samples discarded",
    f"the mean share of discarded samples in the last fifth of {LEAST} steps or more is {TIMES:g} times that of the "
    f"fifth that discarded least before, and {RISE:.0%} more, by {ERRORS:g} standard errors; or {MOST:.0%} or more are "
    f"discarded, or {WASTE:.0%} or more for other reasons than {NO_SPREAD}",
    look,
),)  # fmt: skip
