"""All log-probabilities of a step are the same number."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown
from rolloupe.insight.lint.series import LOGPROBS, NO_LOGPROBS, step_breach

LEAST_TOKENS = 16


def look(data: LintData) -> Breach | Unknown | None:
    """Compare the least with the greatest of each step."""
    series = {key: one.moments for key, one in data.series().items() if key[2] in LOGPROBS}
    if not series:
        return NO_LOGPROBS
    bad = [key for key, one in series.items() if one.count >= LEAST_TOKENS and one.min == one.max]
    return step_breach(data, bad, "All log-probabilities are equal")


RULE = LintRule(
    "equal_logprobs", f"all log-probabilities of a step with {LEAST_TOKENS} tokens or more are equal", look,
    is_certain=True,
)  # fmt: skip
