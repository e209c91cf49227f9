"""Token-level mathematics: each formula once, in NumPy with float64 inside, for every face to show.

Owns formulas and the alignment of per-token arrays; reads no files and knows no framework's keys. Positions that do
not count are absent, never zero.
"""

from rolloupe.tokens.arrays import Floats, finite, length, read_floats, same_end, under_mask, unpadded_length
from rolloupe.tokens.facts import facts_of
from rolloupe.tokens.ratios import board_kl, kl_k2, kl_k3, log_ratio, mean_and_sum, nan_mean, nan_sum

__all__ = [
    "Floats",
    "board_kl",
    "facts_of",
    "finite",
    "kl_k2",
    "kl_k3",
    "length",
    "log_ratio",
    "mean_and_sum",
    "nan_mean",
    "nan_sum",
    "read_floats",
    "same_end",
    "under_mask",
    "unpadded_length",
]
