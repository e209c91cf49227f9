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
    text = f"{counted(count, 'truncated sample')} {'was' if count == 1 else 'were'} rewarded, of {of_all:,}"
    return breach(paid, f"{text}; {int(middle.sum()):,} got the median of the group or more.") if middle.any() else None


RULE = LintRule(
    "truncated_rewards",
    "truncated training samples have a reward above 0, and some of them the median of their group or more",
    look,
)
