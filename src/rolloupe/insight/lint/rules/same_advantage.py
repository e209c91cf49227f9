"""All siblings have the same advantage, though their rewards differ."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach, counted


def look(data: LintData) -> Breach | Unknown | None:
    """Look at groups of environments whose trainer compares siblings."""
    groups = data.groups
    if not groups.follow.any():
        return NO_LAW
    bad = groups.follow & groups.differ & (groups.sizes >= 2) & ~groups.moves
    text = f"In {counted(int(bad.sum()), 'group')} all siblings have the same advantage, though their rewards differ"
    return breach(groups.members(bad), f"{text}: {{n}} teach nothing, or all the same.")


NO_LAW = Unknown(
    "the advantages of siblings are no straight function of their rewards in this run, or are not recorded"
)

RULE = LintRule(
    "same_advantage",
    "siblings have equal advantages and unequal rewards, in a run where 95 % of the groups of three or more have "
    "advantages that are a straight function of their rewards",
    look,
    is_certain=True,
)
