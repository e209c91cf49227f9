"""What the parts of the reward pay for, in formulas."""

from rolloupe.insight.reward_components.formulas import RewardPart, RunParts, parts
