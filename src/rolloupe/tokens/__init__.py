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
from rolloupe.tokens.groups import effective_sample_size, group_advantages, value_error
from rolloupe.tokens.loss_inputs import Flags, LossInputs
from rolloupe.tokens.masks import DPPO, IPO, Clip, IcePop, MaskFlags, MaskRule, SequenceClip
from rolloupe.tokens.ratios import (
    board_kl,
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
from rolloupe.tokens.update import (
    Aggregation,
    Clipped,
    ClippedSequence,
    ClippedWeight,
    Masked,
    Reinforce,
    UpdateRule,
    aggregation_weights,
    update_coefficients,
)

__all__ = [
    "DPPO",
    "IPO",
    "Aggregation",
    "Clip",
    "Clipped",
    "ClippedSequence",
    "ClippedWeight",
    "Flags",
    "Floats",
    "IcePop",
    "LossInputs",
    "MaskFlags",
    "MaskRule",
    "Masked",
    "Reinforce",
    "SequenceClip",
    "UpdateRule",
    "aggregation_weights",
    "beside",
    "board_kl",
    "effective_sample_size",
    "facts_of",
    "finite",
    "group_advantages",
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
    "update_coefficients",
    "value_error",
]
