"""A metric of the trainer is no finite number at some steps."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rolloupe.insight.alarm import Alarm, NotChecked, Rule
from rolloupe.insight.curves import CurveName, HasCurves
from rolloupe.tokens import Floats

SHARE, LEAST = 0.5, 3

UPDATE = re.compile(
    r"(^|[/_])(loss|grad|kl|entropy|log_?prob|ratio|advantage|value|lr|learning_rate|perplexity|ppl|clip)"
    r"|^((train|critic|rollout)/)?(reward|score)s?([/_]mean)?$"
)
"""Names of metrics of whole steps, above all of the update. Other means have no value where none has a sample."""


def look(source: HasCurves) -> Iterator[Alarm]:
    """Look for NaN and infinities in metrics that usually are finite."""
    bad: dict[int, list[str]] = {}
    metrics = {name: curve for name in source.names("trainer") if (curve := source.curve("trainer", name)) is not None}
    if not metrics:
        raise NotChecked("the trainer logged no metrics")
    for name, curve in metrics.items():
        unusual = _unusual(curve.values, is_of_update=bool(UPDATE.search(name.lower())))
        for step in curve.steps[unusual].tolist():
            bad.setdefault(step, []).append(name)
    if bad:
        steps = sorted(bad)
        names = list(dict.fromkeys(name for step in steps for name in bad[step]))
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        count = f"{len(steps)} step{'s' if len(steps) > 1 else ''}"
        curves = tuple(CurveName("trainer", name) for name in names)
        yield Alarm(f"NaN or infinite at {count}, first at {steps[0]}", shown, steps[0], steps[-1], curves=curves)


def _unusual(values: Floats, *, is_of_update: bool) -> NDArray[np.bool_]:
    """The points of a metric that are not finite though it usually is, or was until it was so no more."""
    is_bad = ~np.isfinite(values)
    if is_of_update and is_bad.mean() <= SHARE:
        return is_bad
    finite = np.flatnonzero(~is_bad)
    was_usual = len(finite) >= LEAST and is_bad[finite[0] : finite[-1]].mean() <= SHARE
    if was_usual and len(values) - finite[-1] > LEAST * np.diff(finite).max():
        is_bad[: finite[-1]] = False
        return is_bad
    is_bad &= np.isinf(values)
    return is_bad if len(finite) >= SHARE * len(values) else np.zeros_like(is_bad)


RULES = (
    Rule(
        "not_finite",
        "NaN",
        f"a metric of the update (loss, gradient, KL, entropy, ...) that is finite at {SHARE:.0%} of its steps or more "
        "is not at some, another one is infinite at some, or one that was finite never is again, for "
        f"{LEAST} times as many steps as ever before",
        look,
        "error",
    ),
)
