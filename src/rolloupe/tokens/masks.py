"""Rules that take tokens out of the loss, each a record of its thresholds.

A rule never flags a token outside the loss mask, nor one with a NaN in what the rule compares.
"""

from typing import NamedTuple, Protocol

import numpy as np

from rolloupe.tokens.arrays import Floats
from rolloupe.tokens.loss_inputs import Flags, LossInputs


class MaskFlags(NamedTuple):
    """The tokens that a rule takes out, each array of shape (T,)."""

    masked: Flags
    high: Flags
    """Those taken out because they moved up too far."""
    low: Flags
    """Those taken out because they moved down too far."""


class MaskRule(Protocol):
    """A rule; its fields are its thresholds."""

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """Return the tokens that the rule takes out."""
        ...


class DPPO(NamedTuple):
    """Takes out a token whose probability has already moved too far in the direction of its advantage.

    At an advantage of 0 the low threshold decides, and neither side is flagged. Source: prime-rl, DPPO-Binary-TV in
    `trainer/rl/loss.py`.
    """

    low: float = 0.2
    high: float = 0.2

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """See `MaskRule`."""
        return self.flags_of(tokens.deltas, tokens.advantages, tokens.loss_mask)

    def flags_of(self, deltas: Floats, advantages: Floats, loss_mask: Flags) -> MaskFlags:
        """Return the same from recorded changes of probability, all of shape (T,)."""
        with np.errstate(invalid="ignore"):
            too_high, too_low = deltas > self.high, deltas < -self.low
            positive, negative = advantages > 0, advantages < 0
        masked = loss_mask & np.where(positive, too_high, too_low)
        return MaskFlags(masked, loss_mask & positive & too_high, loss_mask & negative & too_low)


class IcePop(NamedTuple):
    """Takes out a token if the ratio of trainer to inference engine is outside `[low, high]`.

    Source: IcePop (Ant Ling 2025), which uses [0.5, 5]; prime-rl's default is [0.2, 5].
    """

    low: float = 0.2
    high: float = 5.0

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """See `MaskRule`."""
        with np.errstate(invalid="ignore"):
            high, low = tokens.engine_ratios > self.high, tokens.engine_ratios < self.low
        return _either(tokens.loss_mask & high, tokens.loss_mask & low)


class IPO(NamedTuple):
    """Takes out a token whose probability moved by more than `threshold`. Source: prime-rl."""

    threshold: float = 0.1

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """See `MaskRule`."""
        with np.errstate(invalid="ignore"):
            high, low = tokens.deltas > self.threshold, tokens.deltas < -self.threshold
        return _either(tokens.loss_mask & high, tokens.loss_mask & low)


class Clip(NamedTuple):
    """Takes out the tokens to which a clipped loss gives no gradient.

    These are tokens with `A > 0` and a ratio above `1 + high`, and with `A < 0` and a ratio below `1 - low`, or above
    `dual` if given. Sources: PPO (Schulman et al. 2017); DAPO (Yu et al. 2025) with `low` 0.2 and `high` 0.28; the dual
    clip of Ye et al. 2020.
    """

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """See `MaskRule`."""
        return _clipped(tokens, tokens.ratios, self)


class SequenceClip(NamedTuple):
    """As `Clip`, with the ratio of the whole sequence for each of its tokens. Source: GSPO (Zheng et al. 2025)."""

    low: float = 3e-4
    high: float = 4e-4

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """See `MaskRule`."""
        return _clipped(tokens, np.full(tokens.advantages.shape, tokens.sequence_ratio), Clip(self.low, self.high))


def _clipped(tokens: LossInputs, ratios: Floats, clip: Clip) -> MaskFlags:
    with np.errstate(invalid="ignore"):
        high = (tokens.advantages > 0) & (ratios > 1 + clip.high)
        low = (tokens.advantages < 0) & (ratios < 1 - clip.low)
        if clip.dual is not None:
            high |= (tokens.advantages < 0) & (ratios > clip.dual)
    return _either(tokens.loss_mask & high, tokens.loss_mask & low)


def _either(high: Flags, low: Flags) -> MaskFlags:
    return MaskFlags(high | low, high, low)
