"""What a run shows without being asked: rules that look at its curves, and what its rewards pay for (`findings`)."""

from rolloupe.insight.check import RULES, CheckedCurves, Raised, check
from rolloupe.insight.curves import Alarm, History, NotChecked, Rule, RunCurves, UncheckedRule

__all__ = [
    "RULES", "Alarm", "CheckedCurves", "History", "NotChecked", "Raised", "Rule", "RunCurves", "UncheckedRule", "check",
]  # fmt: skip
