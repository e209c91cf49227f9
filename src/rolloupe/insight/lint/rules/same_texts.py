"""All siblings wrote the same."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, breach, counted

LEAST = 4


def look(data: LintData) -> Breach | None:
    """Look at groups of four or more."""
    grouping, texts = data.grouping, data.texts
    if not len(grouping):
        return None
    same = np.minimum.reduceat(texts, grouping.starts) == np.maximum.reduceat(texts, grouping.starts)
    bad = same & (grouping.sizes >= LEAST) & (data.is_train & data.has_text)[grouping.starts]
    text = f"In {counted(int(bad.sum()), 'group')} of {LEAST} or more all siblings wrote the same response"
    return breach(bad[grouping.numbers], f"{text}: {{n}}.")


RULE = LintRule("same_texts", f"all samples of a group of {LEAST} or more have the same response", look)
