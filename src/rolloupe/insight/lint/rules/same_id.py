"""Two samples have the same id."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, breach


def look(data: LintData) -> Breach | None:
    """Count ids among the trained samples."""
    own = np.flatnonzero(data.trained)
    _, places, counts = np.unique(data.identities[own], return_inverse=True, return_counts=True)
    twice = np.zeros(len(data), np.bool_)
    twice[own[counts[places] > 1]] = True
    return breach(twice, "Trained on, with the id of another trained sample of the step: {n}.")


RULE = LintRule("same_id", "two trained samples of a step have the same group and index", look, is_certain=True)
