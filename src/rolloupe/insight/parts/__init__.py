"""What each part of the reward pays for."""

from rolloupe.insight.parts.records import PartTerm, RewardPart, RunParts
from rolloupe.insight.parts.search import parts

__all__ = ["PartTerm", "RewardPart", "RunParts", "parts"]
