"""Scores of a person's own grader for the samples of a run, computed in child processes within limits."""

from rolloupe.insight.rescore.process import (
    FAILED,
    MOST_LATE,
    PREFIX,
    REASON,
    Graded,
    GraderLimits,
    Verdict,
    grader_file,
)
from rolloupe.insight.rescore.run import Comparison, Rescored, RescorePlan, RewardChange, rescored
