"""A reward, or a part of it, lies outside the range that the run declares."""

import numpy as np

from rolloupe.features import Floats
from rolloupe.insight.lint.data import LintData, Mask
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach

TOLERANCE = 1e-6


def look(data: LintData) -> Breach | Unknown | None:
    """Compare rewards and declared sample metrics with their ranges."""
    info = data.run.info
    whole = info.reading.reward_range or info.reward_range
    by_env = {} if info.reading.reward_range else {env: (low, high) for env, low, high in info.env_reward_ranges}
    if not (whole or by_env or data.ranged):
        return Unknown("the run declares no range; --reward-range LOW:HIGH names one")
    outside = np.zeros(len(data), np.bool_)
    if whole:
        outside |= _outside(data.reward, *whole) & ~np.isin(data.env, list(by_env))
    for env, (low, high) in by_env.items():
        outside |= _outside(data.reward, low, high) & (data.env == env)
    for name, worst, best in info.metric_ranges:
        if name in data.ranged and worst < best:  # what is better small may have no upper end
            outside |= _outside(data.arrays.numbers(name), worst, best)
    return breach(outside, "Outside the range that the run declares for the reward or a part of it: {n}.")


def _outside(values: Floats, first: float, second: float) -> Mask:
    low, high = sorted((first, second))
    slack = TOLERANCE * max(1.0, abs(low), abs(high))
    return np.isfinite(values) & ((values < low - slack) | (values > high + slack))


RULE = LintRule(
    "outside_range", "a reward, or a part of it, lies outside the range that the run declares", look, is_certain=True
)
