"""Rules that take tokens out of the loss, each a record of its thresholds.

Every rule compares one series with limits that may depend on the sign of a token's advantage, so a rule is data: its
`limits` say all that it does, and a page can apply it with other thresholds. A rule never takes out a token outside the
loss mask, nor one with a NaN in what the rule compares.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from rolloupe.tokens.arrays import Floats
from rolloupe.tokens.loss_inputs import Compared, Flags, LossInputs

Sign: TypeAlias = Literal["up", "zero", "down"]
"""The sign of an advantage: `up` above 0, `down` below 0, `zero` for 0 and NaN."""

ANY_SIGN: tuple[Sign, ...] = ("up", "zero", "down")


class MaskFlags(NamedTuple):
    """The tokens that a rule takes out, each array of shape (T,)."""

    masked: Flags
    high: Flags
    """Those taken out because they moved up too far."""
    low: Flags
    """Those taken out because they moved down too far."""


class Limit(NamedTuple):
    """Takes out the tokens whose value is beyond `base + factor * value`, if their advantage has one of the signs."""

    threshold: str
    """The field of the rule that `value` is."""
    value: float
    side: Literal["low", "high"]
    """`high`: values above the limit are taken out; `low`: values below it."""
    signs: tuple[Sign, ...] = ANY_SIGN
    base: float = 0.0
    factor: float = 1.0

    @property
    def bound(self) -> float:
        """The last value that is left in the loss."""
        return self.base + self.factor * self.value


@dataclass(frozen=True)
class MaskRule(ABC):
    """A rule; its fields are its thresholds."""

    name: ClassVar[str]
    title: ClassVar[str]
    compares: ClassVar[Compared]
    """The series that the rule compares."""

    @property
    @abstractmethod
    def limits(self) -> tuple[Limit, ...]:
        """All that the rule does."""

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds that are set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """Return the tokens that the rule takes out."""
        return self.flags_of(tokens.compared(self.compares), tokens.advantages, tokens.loss_mask)

    def flags_of(self, values: Floats, advantages: Floats, loss_mask: Flags) -> MaskFlags:
        """Return the same from the values of the compared series, all of shape (T,).

        A token without an advantage has a side only if the rule looks at no advantage.
        """
        high, low, masked = (np.zeros(values.shape, dtype=np.bool_) for _ in range(3))
        with np.errstate(invalid="ignore"):
            up, down = advantages > 0, advantages < 0
            of_sign = {"up": up, "down": down, "zero": ~(up | down)}
            for limit in self.limits:
                beyond = values > limit.bound if limit.side == "high" else values < limit.bound
                is_any = limit.signs == ANY_SIGN
                taken = beyond if is_any else beyond & np.logical_or.reduce([of_sign[sign] for sign in limit.signs])
                masked |= taken
                sided = taken if is_any else taken & ~of_sign["zero"]
                if limit.side == "high":
                    high |= sided
                else:
                    low |= sided
        return MaskFlags(masked & loss_mask, high & loss_mask, low & loss_mask)


@dataclass(frozen=True)
class DPPO(MaskRule):
    """Takes out a token whose probability has already moved too far in the direction of its advantage.

    At an advantage of 0 the low threshold decides, and neither side is flagged. Source: prime-rl, DPPO-Binary-TV in
    `trainer/rl/loss.py`.
    """

    name = "dppo"
    title = "DPPO"
    compares = "prob_delta"
    low: float = 0.2
    high: float = 0.2

    @property
    def limits(self) -> tuple[Limit, ...]:
        """See `MaskRule`."""
        return Limit("low", self.low, "low", ("zero", "down"), factor=-1.0), Limit("high", self.high, "high", ("up",))


@dataclass(frozen=True)
class IcePop(MaskRule):
    """Takes out a token if the ratio of trainer to inference engine is outside `[low, high]`.

    The bounds are prime-rl's defaults. Source: IcePop (Ant Ling 2025).
    """

    name = "icepop"
    title = "IcePop (prime-rl)"
    compares = "importance_ratio"
    low: float = 0.2
    high: float = 5.0

    @property
    def limits(self) -> tuple[Limit, ...]:
        """See `MaskRule`."""
        return Limit("low", self.low, "low"), Limit("high", self.high, "high")


@dataclass(frozen=True)
class AntIcePop(IcePop):
    """IcePop with the bounds of its authors. Source: IcePop (Ant Ling 2025), `alpha` 0.5 and `beta` 5."""

    name = "icepop_ant"
    title = "IcePop (Ant)"
    low: float = 0.5


@dataclass(frozen=True)
class IPO(MaskRule):
    """Takes out a token whose probability moved by more than `threshold`. Source: prime-rl."""

    name = "ipo"
    title = "IPO"
    compares = "prob_delta"
    threshold: float = 0.1

    @property
    def limits(self) -> tuple[Limit, ...]:
        """See `MaskRule`."""
        return (
            Limit("threshold", self.threshold, "low", factor=-1.0),
            Limit("threshold", self.threshold, "high"),
        )


@dataclass(frozen=True)
class Clip(MaskRule):
    """Takes out the tokens to which a clipped loss gives no gradient.

    These are tokens with `A > 0` and a ratio above `1 + high`, and with `A < 0` and a ratio below `1 - low`, or above
    `dual` if given. Sources: PPO (Schulman et al. 2017); DAPO (Yu et al. 2025) with `low` 0.2 and `high` 0.28; the dual
    clip of Ye et al. 2020.
    """

    name = "ppo"
    title = "PPO, GRPO"
    compares = "update_ratio"
    low: float = 0.2
    high: float = 0.2
    dual: float | None = None

    @property
    def limits(self) -> tuple[Limit, ...]:
        """See `MaskRule`."""
        dual = () if self.dual is None else (Limit("dual", self.dual, "high", ("down",)),)
        return (
            Limit("low", self.low, "low", ("down",), 1.0, -1.0),
            Limit("high", self.high, "high", ("up",), 1.0),
            *dual,
        )


@dataclass(frozen=True)
class ClipHigher(Clip):
    """The clip of DAPO, whose upper threshold is higher. Source: Yu et al. 2025."""

    name = "dapo"
    title = "DAPO"
    high: float = 0.28


@dataclass(frozen=True)
class SequenceClip(MaskRule):
    """As `Clip`, with the ratio of the whole sequence for each of its tokens. Source: GSPO (Zheng et al. 2025)."""

    name = "gspo"
    title = "GSPO"
    compares = "sequence_ratio"
    low: float = 3e-4
    high: float = 4e-4

    @property
    def limits(self) -> tuple[Limit, ...]:
        """See `MaskRule`."""
        return (
            Limit("low", self.low, "low", ("down",), 1.0, -1.0),
            Limit("high", self.high, "high", ("up",), 1.0),
        )


MASK_RULES: tuple[type[MaskRule], ...] = (DPPO, IcePop, AntIcePop, IPO, Clip, ClipHigher, SequenceClip)
"""Every rule."""
