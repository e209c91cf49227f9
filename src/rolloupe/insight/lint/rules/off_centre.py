"""The advantages of siblings do not add up to 0, though they do in most groups."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach, counted

TOLERANCE = 0.05


def look(data: LintData) -> Breach | Unknown | None:
    """Look at groups of which every sample was trained on."""
    groups = data.groups
    centres = groups.centred(TOLERANCE)
    if not centres.any():
        return Unknown("the advantages of siblings do not add up to 0 in this run, or are not recorded")
    bad = centres & groups.whole() & (groups.sizes >= 2) & (np.abs(groups.means) > TOLERANCE)
    text = f"In {counted(int(bad.sum()), 'group')} the advantages of siblings do not add up to 0, as in others"
    return breach(groups.members(bad), f"{text}: {{n}}.")


RULE = LintRule(
    "off_centre",
    f"the mean advantage of a group is off 0 by {TOLERANCE:.0%} of the greatest, though 95 % of the groups of three or "
    "more are not",
    look,
)
