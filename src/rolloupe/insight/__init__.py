"""What a run shows without being asked: rules that look at its curves, and what its rewards pay for (`findings`)."""

from rolloupe.insight.check import RULES, CheckedCurves, Raised, check
from rolloupe.insight.curves import Alarm, HasCurves, History, NotChecked, Rule, RunCurves, UncheckedRule

__all__ = [
    "RULES", "Alarm", "CheckedCurves", "HasCurves", "History", "NotChecked", "Raised", "Rule", "RunCurves",
    "UncheckedRule", "check",
]  # fmt: skip
