"""The same long response at several steps."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown, breach, counted

LEAST_CHARS = 200
LEAST_SHARE = 0.05


def look(data: LintData) -> Breach | Unknown | None:
    """Compare trained responses that are too long to come about twice by chance."""
    own = np.flatnonzero(data.trained & (data.chars >= LEAST_CHARS))
    if len(np.unique(data.step[own])) < 2:
        return Unknown(f"fewer than two steps have trained responses of {LEAST_CHARS} characters or more")
    order = own[np.lexsort((data.step[own], data.texts[own]))]
    texts, steps = data.texts[order], data.step[order]
    starts = np.flatnonzero(np.diff(texts, prepend=texts[:1] - 1))
    sizes = np.diff(starts, append=len(texts))
    is_again = np.repeat(steps[starts + sizes - 1] > steps[starts], sizes)
    if is_again.mean() < LEAST_SHARE:
        return None
    found = np.zeros(len(data), np.bool_)
    found[order[is_again]] = True
    of_all = f"of {counted(len(own))} with {LEAST_CHARS} characters or more"
    return breach(found, f"The same response was trained on at another step: {{n}} {of_all}.")


RULE = LintRule(
    "recurring_texts",
    f"of the trained responses of {LEAST_CHARS} characters or more, {LEAST_SHARE:.0%} or more occur at another step",
    look,
)
