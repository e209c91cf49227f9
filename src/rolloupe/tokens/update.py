"""What a step of training does to each token, as the gradient of its objective says.

The objective's gradient is the sum over tokens of `w * g * grad log pi(token)`: the sign of the coefficient `g` says
whether the step pushes the token up or down, its size how hard; `w` is the weight of the aggregation. The coefficients
hold at the recorded numbers, that is for the first minibatch of a step.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rolloupe.tokens.arrays import Floats
from rolloupe.tokens.loss_inputs import LossInputs
from rolloupe.tokens.masks import DPPO, Clip, IcePop, MaskFlags, SequenceClip

Aggregation: TypeAlias = Literal["token_mean", "sequence_mean", "fixed_length"]
"""How a loss weighs tokens: `token_mean` 1 / (tokens of all sequences), `sequence_mean` 1 / (sequences * tokens of
the sequence), `fixed_length` 1 / (sequences * the longest length allowed), as in Dr. GRPO."""


class Reinforce(NamedTuple):
    """The policy gradient on the policy's own samples: `A`. Source: Williams 1992."""

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _under_mask(tokens, tokens.advantages)


class Clipped(NamedTuple):
    """`A * ratio`, and 0 where `clip` takes the token out. Sources: see `Clip`; GRPO: Shao et al. 2024."""

    clip: Clip = Clip()

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _without(tokens, tokens.ratios, self.clip.flags(tokens))


class ClippedSequence(NamedTuple):
    """`A * s` with the ratio `s` of the sequence, and 0 if it is clipped. Source: GSPO (Zheng et al. 2025)."""

    clip: SequenceClip = SequenceClip()

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _without(tokens, tokens.compared("sequence_ratio"), self.clip.flags(tokens))


class ClippedWeight(NamedTuple):
    """`A * min(ratio, 1 + high)`: clips the weight and takes no token out. Source: CISPO (MiniMax-M1, 2025)."""

    high: float = 0.28

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _under_mask(tokens, _times(tokens.advantages, np.minimum(tokens.ratios, 1 + self.high)))


class Masked(NamedTuple):
    """`A * ratio`, and 0 where `mask` takes the token out. Sources: see `IcePop` and `DPPO`."""

    mask: IcePop | DPPO = DPPO()

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _without(tokens, tokens.ratios, self.mask.flags(tokens))


UpdateRule: TypeAlias = Reinforce | Clipped | ClippedSequence | ClippedWeight | Masked


def update_coefficients(tokens: LossInputs, rule: UpdateRule, kl_weight: float = 0.0) -> Floats:
    """Return `g` for each token, shape (T,): 0 outside the loss mask, NaN where an input is.

    `kl_weight` is the weight of a k3 penalty in the loss, which adds `-kl_weight * (1 - exp(ref_logprobs - logprobs))`;
    it needs `ref_logprobs`. Raises `ValueError` without them.
    """
    coefficients = rule.coefficients(tokens)
    if not kl_weight:
        return coefficients
    if tokens.ref_logprobs is None:
        raise ValueError("a KL penalty needs ref_logprobs")
    with np.errstate(over="ignore", invalid="ignore"):
        return coefficients + _under_mask(tokens, kl_weight * np.expm1(tokens.ref_logprobs - tokens.logprobs))


def aggregation_weights(
    token_counts: Sequence[int], aggregation: Aggregation, longest: int | None = None
) -> list[float]:
    """Return the weight of each token of each sequence of a batch, from the numbers of tokens under the masks.

    `fixed_length` needs `longest`. A sequence without a token has the weight 0. Raises `ValueError` without `longest`.
    """
    if aggregation == "token_mean":
        total = sum(token_counts)
        return [1 / total if count else 0.0 for count in token_counts]
    if aggregation == "sequence_mean":
        return [1 / (len(token_counts) * count) if count else 0.0 for count in token_counts]
    if not longest:
        raise ValueError("fixed_length needs the longest length allowed")
    return [1 / (len(token_counts) * longest) if count else 0.0 for count in token_counts]


def _times(advantages: Floats, ratios: Floats) -> Floats:
    """The product, 0 for an advantage of 0 even if the ratio is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((advantages == 0) & ~np.isnan(ratios), 0.0, advantages * ratios)


def _without(tokens: LossInputs, ratios: Floats, flags: MaskFlags) -> Floats:
    return np.where(flags.masked, 0.0, _under_mask(tokens, _times(tokens.advantages, ratios)))


def _under_mask(tokens: LossInputs, values: Floats) -> Floats:
    return np.where(tokens.loss_mask, values, 0.0)
