"""A sibling with the worse reward has the better advantage."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach, counted
from rolloupe.insight.lint.rules.same_advantage import NO_LAW

LEAST = 1e-3


def look(data: LintData) -> Breach | Unknown | None:
    """Look at groups of environments whose trainer compares siblings."""
    groups = data.groups
    if not groups.follow.any():
        return NO_LAW
    bad = groups.follow & groups.differ & groups.moves & (groups.correlation < -LEAST)
    text = f"In {counted(int(bad.sum()), 'group')} the better advantage goes to the worse reward"
    return breach(groups.members(bad), f"{text}: {{n}}.")


RULE = LintRule(
    "advantage_order",
    "advantages fall as rewards rise within a group, in a run where 95 % of the groups of three or more have "
    "advantages that are a straight function of their rewards",
    look,
    is_certain=True,
)
