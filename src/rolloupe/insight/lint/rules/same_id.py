"""Two samples have the same id."""

import numpy as np

from rolloupe.features import Grouping
from rolloupe.insight.lint.data import LintData, Mask
from rolloupe.insight.lint.rule import Breach, LintRule, Places, breach


def look(data: LintData) -> Breach | None:
    """Count ids among the trained samples: those of the format, and those that the records have."""
    own = np.flatnonzero(data.trained)
    twice = np.zeros(len(data), np.bool_)
    twice[own[_is_again(data.identities[own])]] = True
    for name in data.recorded:
        twice |= _recorded_twice(data, name)
    return breach(twice, "Trained on, with the id of another trained sample of the step: {n}.")


def _is_again(values: Places) -> Mask:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    is_again: Mask = counts[places] > 1
    return is_again


def _recorded_twice(data: LintData, name: str) -> Mask:
    """The siblings with one recorded id; none if it is no id of samples, since siblings that differ share one."""
    found = np.zeros(len(data), np.bool_)
    own = np.flatnonzero(data.trained & data.has_text & data.has_value(name))
    codes = data.codes(name)[own]
    pairs = data.grouping.numbers[own] * (codes.max(initial=0) + 1) + codes
    order = np.argsort(pairs, kind="stable")
    alike, texts = Grouping(pairs[order]), data.texts[own][order]
    low, high = (way.reduceat(texts, alike.starts) if len(own) else texts for way in (np.minimum, np.maximum))
    if (low != high).any():
        return found
    groups = data.grouping.numbers[own][order][alike.starts]
    has_several = np.bincount(groups, minlength=len(data.grouping))[groups] > 1
    found[own[order[((alike.sizes > 1) & has_several)[alike.numbers]]]] = True
    return found


RULE = LintRule(
    "same_id",
    "two trained samples of a step have the same group and index, or two equal siblings share a `sample_id`, "
    "`sample_uid` or `trajectory_id`, which siblings that differ never do",
    look,
    is_certain=True,
)
