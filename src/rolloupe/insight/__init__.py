"""What a run's numbers show without being asked: rules that look at its curves, and the alarms that they raise."""

from rolloupe.insight.alarm import Alarm, Rule
from rolloupe.insight.check import RULES, Raised, check
from rolloupe.insight.curves import HasCurves, History, RunCurves

__all__ = ["RULES", "Alarm", "HasCurves", "History", "Raised", "Rule", "RunCurves", "check"]
