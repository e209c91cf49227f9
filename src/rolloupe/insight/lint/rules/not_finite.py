"""A reward or an advantage is no finite number."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, breach


def look(data: LintData) -> Breach | None:
    """Look at the samples that have a value; discarded ones reach no update."""
    bad = np.zeros(len(data), np.bool_)
    for name, values in (("reward", data.reward), ("advantage", data.advantage)):
        bad |= data.has_value(name) & ~np.isfinite(values)
    return breach(bad & (data.trained | ~data.is_train), "The reward or the advantage of {n} is NaN or infinite.")


RULE = LintRule("not_finite", "the reward or the advantage of a sample is NaN or infinite", look, is_certain=True)
