"""What a run shows without being asked: rules that look at its curves, and what its rewards pay for (`findings`)."""

from rolloupe.insight.check import RULES, CheckedCurves, Raised, check
from rolloupe.insight.curves import Alarm, History, NotChecked, Rule, RunCurves, UncheckedRule
