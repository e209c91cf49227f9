"""The trained policy is not the one that sampled."""

from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import Breach, LintRule, Unknown
from rolloupe.insight.lint.series import step_breach

RATIOS = ("importance_ratio", "ratio")
OFF = 0.05


def look(data: LintData) -> Breach | Unknown | None:
    """Look at the mean ratio of each step."""
    series = {key: one.moments for key, one in data.series().items() if key[2] in RATIOS}
    if not series:
        return Unknown("the index has no importance ratios by token of these samples")
    bad = [key for key, one in series.items() if one.count and abs(one.mean - 1) > OFF]
    return step_breach(data, bad, f"The mean importance ratio is off 1 by more than {OFF:g}", highest=True)


RULE = LintRule("off_policy", f"the mean importance ratio of a step is off 1 by more than {OFF:g}", look)
