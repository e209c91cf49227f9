"""A log-probability is above 0."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown
from rolloupe.insight.lint.series import LOGPROBS, NO_LOGPROBS, step_breach

SLACK = 1e-3
"""Rounding in half precision."""


def look(data: LintData) -> Breach | Unknown | None:
    """Look at the extremes of each step."""
    series = {key: one for key, one in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, one in series.items() if one.moments.count and one.moments.max > SLACK]
    return step_breach(data, bad, "Log-probabilities are above 0", highest=True)


RULE = LintRule("positive_logprobs", f"a log-probability is above 0, by {SLACK:g} or more", look, is_certain=True)
