"""Token-level mathematics: each formula once, in NumPy with float64 inside, for every face to show.

Owns formulas and the alignment of per-token arrays; reads no files and knows no framework's keys. Positions that do
not count are absent, never zero.
"""

from rolloupe.tokens.arrays import Floats, read_floats, unpadded_length
from rolloupe.tokens.ratios import (
    DPPO,
    DPPO_MASK,
    Flags,
    board_kl,
    dppo_flags,
    importance_ratio,
    log_ratio,
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
    "board_kl",
    "dppo_flags",
    "importance_ratio",
    "log_ratio",
    "mismatch_kl",
    "nan_mean",
    "nan_sum",
    "prob_delta",
    "read_floats",
    "unpadded_length",
]
