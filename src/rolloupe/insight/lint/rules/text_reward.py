"""A reward is text, not a number."""

import numpy as np

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, counted


def look(data: LintData) -> Breach | None:
    """Look at the samples without a reward that have a text under one of its names."""
    texts = np.full(len(data), "", np.object_)
    for name in reversed(data.reward_tags):
        words = data.words(name)
        texts = np.where(words != "", words, texts)
    found = np.flatnonzero(~data.has_value("reward") & (texts != ""))
    if not len(found):
        return None
    shown = f"so it does not count; the first is “{texts[found[0]]}”"
    return Breach(found, f"The reward of {counted(len(found))} is text, not a number, {shown}.")


RULE = LintRule("text_reward", "the reward of a sample is text, not a number", look, is_certain=True)
