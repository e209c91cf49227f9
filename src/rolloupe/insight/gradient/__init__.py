"""Where the gradient of a run came from."""

from rolloupe.insight.gradient.records import GradientShare, PromptCounts, RunGradient, StepGroups
from rolloupe.insight.gradient.search import gradient

__all__ = ["GradientShare", "PromptCounts", "RunGradient", "StepGroups", "gradient"]
