"""Token-level mathematics: each formula once, in NumPy with float64 inside, for every face to show.

Owns formulas and the alignment of per-token arrays; reads no files and knows no framework's keys. Positions that do
not count are absent, never zero.
"""

from rolloupe.tokens.arrays import (
    Floats,
    beside,
    finite,
    length,
    packed,
    read_floats,
    same_end,
    under_mask,
    unpadded_length,
)
from rolloupe.tokens.facts import facts_of
from rolloupe.tokens.ratios import (
    DPPO,
    DPPO_MASK,
    Flags,
    board_kl,
    dppo_flags,
    importance_ratio,
    kl_k2,
    kl_k3,
    log_ratio,
    mean_and_sum,
    mismatch_kl,
    nan_mean,
    nan_sum,
    prob_delta,
)

__all__ = [
    "DPPO",
    "DPPO_MASK",
    "Flags",
    "Floats",
    "beside",
    "board_kl",
    "dppo_flags",
    "facts_of",
    "finite",
    "importance_ratio",
    "kl_k2",
    "kl_k3",
    "length",
    "log_ratio",
    "mean_and_sum",
    "mismatch_kl",
    "nan_mean",
    "nan_sum",
    "packed",
    "prob_delta",
    "read_floats",
    "same_end",
    "under_mask",
    "unpadded_length",
]
