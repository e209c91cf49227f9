"""Ratios and divergences between two policies, per token, and advantages within a group.

Logarithms are natural. Arrays have the shape (T,), T tokens, unless a function names another.
"""

import numpy as np

from rolloupe.tokens.arrays import Floats


def log_ratio(logprobs: Floats, ref_logprobs: Floats) -> Floats:
    """Return `logprobs - ref_logprobs`, shape (T,), in nats; NaN where either is NaN.

    The two arrays must be of one length. Source: RLLoggingBoard, `log_ratio`; Schulman's k1.
    """
    with np.errstate(invalid="ignore"):
        return logprobs - ref_logprobs


def board_kl(log_ratios: Floats) -> Floats:
    """Return `exp(d) - 1 - d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is NaN or +inf.

    Source: RLLoggingBoard, `kl`. The ratio is policy over reference, the inverse of the ratio in Schulman's k3, which
    estimates the KL only in that direction; the board's name keeps the board's sign.
    """
    return _ratio_minus_log_minus_one(log_ratios)


def importance_ratio(log_ratios: Floats) -> Floats:
    """Return `exp(d)` for `d = trainer_logprobs - inference_logprobs`, shape (T,); NaN where d is NaN.

    Source: prime-rl, `importance_ratio`. `log_ratio` computes `d`, prime-rl's `log_importance_ratio`.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(log_ratios)


def mismatch_kl(log_ratios: Floats) -> Floats:
    """Return `r - ln r - 1` with `r = exp(d)`, `d = trainer_logprobs - inference_logprobs`, shape (T,), at least 0.

    NaN where d is NaN or +inf. Estimates the KL from the sampling policy to the trained one. Source:
    prime-rl, `mismatch_kl`, which subtracts in float32: its values differ from these by up to 1e-6 max(1, r).
    """
    return _ratio_minus_log_minus_one(log_ratios)


def prob_delta(logprobs: Floats, inference_logprobs: Floats) -> Floats:
    """Return `exp(logprobs) - exp(inference_logprobs)`, shape (T,); NaN where either is NaN. Source: prime-rl."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(logprobs) - np.exp(inference_logprobs)


def _ratio_minus_log_minus_one(log_ratios: Floats) -> Floats:
    """Return `exp(d) - 1 - d`, accurate for small d."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(log_ratios) - log_ratios


def kl_k2(log_ratios: Floats) -> Floats:
    """Return `d * d / 2` for `d = logprobs - ref_logprobs`, shape (T,); NaN where d is. Source: Schulman's k2."""
    with np.errstate(over="ignore", invalid="ignore"):
        return log_ratios * log_ratios / 2


def kl_k3(log_ratios: Floats) -> Floats:
    """Return `exp(-d) - 1 + d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is.

    For tokens sampled from the policy, this estimates the KL from policy to reference. Source: Schulman's k3.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(-log_ratios) + log_ratios


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


def nan_mean(values: Floats) -> float | None:
    """Return the mean without NaN (`numpy.nanmean`); None if nothing is left. An infinity makes it infinite."""
    found = mean_and_sum(values)
    return found[0] if found else None


def nan_sum(values: Floats) -> float | None:
    """Return the sum without NaN (`numpy.nansum`, but None if nothing is left)."""
    found = mean_and_sum(values)
    return found[1] if found else None


def mean_and_sum(values: Floats) -> tuple[float, float] | None:
    """Return both at once, in half the time for short arrays."""
    missing = np.isnan(values)
    present = values[~missing] if missing.any() else values
    if not present.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(present.sum())
    return total / present.size, total


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
        mean = known[0] if (known == known[0]).all() else known.mean()  # which may be off by a rounding error
        centred: Floats = rewards - mean
        if not by_std:
            return centred
        std = float(known.std(ddof=ddof)) if known.size > ddof else 0.0
        advantages: Floats = centred / (std + epsilon)
        return advantages
