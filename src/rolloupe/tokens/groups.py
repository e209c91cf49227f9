"""Formulas over whole responses: advantages of a group, the error of a critic, the effective sample size."""

import numpy as np

from rolloupe.tokens.arrays import Floats


def group_advantages(rewards: Floats, *, by_std: bool = True, ddof: int = 1, epsilon: float = 1e-4) -> Floats:
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


def value_error(values: Floats, token_rewards: Floats) -> float | None:
    """Return the mean square of `values - token_rewards`, over the tokens that have both; None without one.

    How well a critic fits. Both arrays have shape (T,). Source: RLLoggingBoard.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (values - token_rewards) ** 2
        known = squares[~np.isnan(squares)]
        return float(known.mean()) if known.size else None


def effective_sample_size(weights: Floats) -> float | None:
    """Return `(sum w)**2 / sum w**2` of importance weights, shape (N,), in samples: N if all are equal, at least 1.

    NaN weights are left out. None without a positive weight. Source: Kong 1992.
    """
    known = weights[~np.isnan(weights)]
    largest = float(known.max()) if known.size else 0.0
    if not 0 < largest < np.inf:
        return None
    scaled = known / largest  # the square of a large weight overflows
    return float(scaled.sum() ** 2 / (scaled**2).sum())
