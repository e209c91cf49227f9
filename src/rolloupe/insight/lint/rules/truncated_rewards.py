"""Truncated samples earn reward."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.medians import group_medians
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach, counted


def look(data: LintData) -> Breach | Unknown | None:
    """Compare the rewards of truncated samples with the medians of their groups."""
    truncated = data.is_train & (data.status == "truncated") & np.isfinite(data.reward)
    if not (data.status[data.is_train] != "unknown").any():
        return Unknown("the run does not say which training samples were truncated")
    paid = truncated & (data.reward > 0)
    middle = paid & (data.reward >= group_medians(data.grouping, data.reward, paid))
    count, of_all = int(paid.sum()), int(truncated.sum())
    text = f"{count:,} of {counted(of_all, 'truncated sample')} {'was' if count == 1 else 'were'} rewarded"
    least = f"{int(middle.sum()):,} of them got at least the median of the group"
    return breach(paid, f"{text}; {least}.") if middle.any() else None


RULE = LintRule(
    "truncated_rewards",
    "truncated training samples have a reward above 0, and some of them the median of their group or more",
    look,
)
