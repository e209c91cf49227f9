"""What a run shows without being asked: rules that look at its curves, and what its rewards pay for (`findings`)."""

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.check import RULES, Raised, check
from rolloupe.insight.curves import HasCurves, History, RunCurves

__all__ = ["RULES", "Alarm", "HasCurves", "History", "Raised", "Rule", "RunCurves", "check"]
