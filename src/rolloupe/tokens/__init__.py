"""Token-level mathematics: each formula once, in NumPy with float64 inside, for every face to show.

Owns formulas and the alignment of per-token arrays; reads no files and knows no framework's keys. Positions that do
not count are absent, never zero.
"""

from rolloupe.tokens.arrays import Floats, length, read_floats, unpadded_length
from rolloupe.tokens.facts import facts_of
from rolloupe.tokens.ratios import board_kl, log_ratio, mean_and_sum, nan_mean, nan_sum

__all__ = [
    "Floats",
    "board_kl",
    "facts_of",
    "length",
    "log_ratio",
    "mean_and_sum",
    "nan_mean",
    "nan_sum",
    "read_floats",
    "unpadded_length",
]
