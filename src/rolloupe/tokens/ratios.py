"""Ratios and divergences between two policies, per token. Natural logarithm; every array has shape (T,), T tokens."""

import numpy as np

from rolloupe.tokens.arrays import Floats


def log_ratio(logprobs: Floats, ref_logprobs: Floats) -> Floats:
    """Return `logprobs - ref_logprobs`, shape (T,), in nats; NaN where either is NaN.

    The two arrays must be of one length (see `align`). Source: RLLoggingBoard, `log_ratio`; Schulman's k1.
    """
    with np.errstate(invalid="ignore"):
        return logprobs - ref_logprobs


def board_kl(log_ratios: Floats) -> Floats:
    """Return `exp(d) - 1 - d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is NaN or +inf.

    Source: RLLoggingBoard, `kl`. The ratio is policy over reference, the other way round from Schulman's k3, which
    is an estimate of the KL only in that other direction; the board's sign is kept under the board's name.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(log_ratios) - log_ratios


def kl_k2(log_ratios: Floats) -> Floats:
    """Return `d * d / 2` for `d = logprobs - ref_logprobs`, shape (T,); NaN where d is. Source: Schulman's k2."""
    with np.errstate(over="ignore", invalid="ignore"):
        return log_ratios * log_ratios / 2


def kl_k3(log_ratios: Floats) -> Floats:
    """Return `exp(-d) - 1 + d` for `d = logprobs - ref_logprobs`, shape (T,), at least 0; NaN where d is.

    For tokens sampled from the policy an estimate of the KL from policy to reference. Source: Schulman's k3.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.expm1(-log_ratios) + log_ratios


def nan_mean(values: Floats) -> float | None:
    """Return the mean over what is not NaN (`numpy.nanmean`); None where nothing is. An infinity makes it infinite."""
    found = mean_and_sum(values)
    return found[0] if found else None


def nan_sum(values: Floats) -> float | None:
    """Return the sum over what is not NaN (`numpy.nansum`, but None where nothing is)."""
    found = mean_and_sum(values)
    return found[1] if found else None


def mean_and_sum(values: Floats) -> tuple[float, float] | None:
    """Return both at once, which of short arrays takes half the time."""
    missing = np.isnan(values)
    kept = values[~missing] if missing.any() else values
    if not kept.size:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(kept.sum())
    return total / kept.size, total
