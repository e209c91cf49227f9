"""A group of one, though the trainer compares siblings."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach

CENTRED = 1e-4


def look(data: LintData) -> Breach | Unknown | None:
    """Look at steps before the newest one, which may be going on."""
    groups = data.groups
    compares = groups.centred(CENTRED)
    if not compares.any():
        return Unknown("the advantages of siblings do not add up to 0 in this run, or are not recorded")
    newest = np.max(data.step[data.is_train], initial=-np.inf)
    is_older = data.step[data.grouping.starts] < newest
    bad = compares & is_older & (data.grouping.sizes == 1) & (groups.sizes == 1)
    return breach(groups.members(bad), "Trained on without any sibling, though advantages compare siblings: {n}.")


RULE = LintRule(
    "single_samples", "a trained sample has no sibling, in a run where the advantages of siblings add up to 0", look,
    is_certain=True,
)  # fmt: skip
