"""Advantages from the rewards of a group."""

import numpy as np

from rolloupe.tokens.arrays import Floats

EQUAL = 1e-6
"""Rewards of a group that lie apart by no more than so much of the largest are equal, and so small an advantage is
none: sums of rewards, and float32, miss by less."""

EPSILON = 1e-4
"""Added to the standard deviation, as TRL and Telescope do."""


def group_advantages(rewards: Floats, *, by_std: bool = True, ddof: int = 1, epsilon: float = EPSILON) -> Floats:
    """Return `r - mean`, with `by_std` divided by `std + epsilon`, shape (N,), for the N rewards of a group.

    NaN rewards count nowhere and stay NaN. A group without spread has advantages of 0, as has a group of fewer members
    than `ddof` + 1. Sources: GRPO (Shao et al. 2024); Dr. GRPO (Liu et al. 2025) leaves the deviation out. Frameworks
    differ in `ddof` and `epsilon`: Telescope has 1 and 1e-4.
    """
    known = rewards[~np.isnan(rewards)]
    if not known.size:
        return rewards.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        centred: Floats = rewards - known.mean()
        if not by_std:
            return centred
        std = float(known.std(ddof=ddof)) if known.size > ddof else 0.0
        advantages: Floats = centred / (std + epsilon)
        return advantages
