"""What a step of training does to each token, as the gradient of its objective says.

The objective's gradient is the sum over tokens of `w * g * grad log pi(token)`: the sign of the coefficient `g` says
whether the step pushes the token up or down, its size how hard; `w` is the weight of the aggregation. The coefficients
hold at the recorded numbers, that is for the first minibatch of a step.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from rolloupe.model import Aggregation
from rolloupe.tokens.arrays import Flags, Floats
from rolloupe.tokens.masks import DPPO, IPO, AntIcePop, Clip, ClipHigher, IcePop, LossInputs, MaskFlags, SequenceClip

MAX_SIZE = 1e290
"""A larger coefficient is in no sum: a sum of some of them would be infinite, though each is finite."""


class Reinforce(NamedTuple):
    """The policy gradient on the policy's own samples: `A`. Source: Williams 1992."""

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _under_mask(tokens, tokens.advantages)


class ImportanceSampled(NamedTuple):
    """`A * ratio`, which takes no token out. Source: `importance_sampling` of Tinker's API."""

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _under_mask(tokens, _times(tokens.advantages, tokens.ratios))


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
    """`A * ratio`, and 0 where `mask` takes the token out. Sources: see `IcePop`, `DPPO` and `IPO`."""

    mask: IcePop | DPPO | IPO = DPPO()

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token."""
        return _without(tokens, tokens.ratios, self.mask.flags(tokens))


class RecordedMask(NamedTuple):
    """`A * ratio`, and 0 for the tokens that the trainer recorded as taken out, whatever its rule was."""

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token. Raises `ValueError` without recorded flags."""
        if tokens.recorded_mask is None:
            raise ValueError("no recorded flags")
        kept = _under_mask(tokens, _times(tokens.advantages, tokens.ratios))
        return np.where(tokens.recorded_mask, 0.0, kept)


UpdateRule: TypeAlias = (
    Reinforce | ImportanceSampled | Clipped | ClippedSequence | ClippedWeight | Masked | RecordedMask
)


class UpdateKind(NamedTuple):
    """A rule by its name in the field: what it does, and the thresholds that it takes."""

    title: str
    about: str
    thresholds: dict[str, float]
    """By name, with their usual values."""
    make: Callable[..., UpdateRule]
    optional: tuple[str, ...] = ()
    """Thresholds that it takes too, and that usually stand nowhere."""


RECORDED = "recorded"
"""The name of what the trainer recorded as taken out."""

_POPPED = "advantage × ratio; nothing where trainer and inference engine disagree; the bounds are"
_CLIPPED = "advantage × ratio; nothing where the ratio has left its bounds in the direction of the advantage"

UPDATES: dict[str, UpdateKind] = {
    "reinforce": UpdateKind("REINFORCE", "the advantage alone, as for the policy's own samples", {}, Reinforce),
    "importance_sampling": UpdateKind(
        "Importance sampling", "advantage × ratio, without limits", {}, ImportanceSampled
    ),
    "ppo": UpdateKind(
        Clip.title, _CLIPPED, {"low": 0.2, "high": 0.2},
        lambda low, high, dual=None: Clipped(Clip(low, high, dual)), ("dual",),
    ),
    "dapo": UpdateKind(
        ClipHigher.title, f"{_CLIPPED}; the upper bound is wider", {"low": 0.2, "high": 0.28},
        lambda low, high, dual=None: Clipped(ClipHigher(low, high, dual)), ("dual",),
    ),
    "gspo": UpdateKind(
        SequenceClip.title,
        "advantage × ratio of the sequence; nothing for all its tokens where that has left its bounds",
        {"low": 3e-4, "high": 4e-4}, lambda low, high: ClippedSequence(SequenceClip(low, high)),
    ),
    "cispo": UpdateKind(
        "CISPO", "advantage × ratio, the ratio never counted above its bound; no token is masked", {"high": 0.28},
        ClippedWeight,
    ),
    "icepop": UpdateKind(
        IcePop.title, f"{_POPPED} prime-rl's", {"low": 0.2, "high": 5.0},
        lambda low, high: Masked(IcePop(low, high)),
    ),
    "icepop_ant": UpdateKind(
        AntIcePop.title, f"{_POPPED} those of Ant Ling 2025", {"low": 0.5, "high": 5.0},
        lambda low, high: Masked(AntIcePop(low, high)),
    ),
    "dppo": UpdateKind(
        DPPO.title, "advantage × ratio; nothing where the probability has moved too far in the advantage's direction",
        {"low": 0.2, "high": 0.2}, lambda low, high: Masked(DPPO(low, high)),
    ),
    "ipo": UpdateKind(
        IPO.title, "advantage × ratio; nothing where the probability has moved too far either way", {"threshold": 0.1},
        lambda threshold: Masked(IPO(threshold)),
    ),
    RECORDED: UpdateKind(
        "Recorded flags", "advantage × ratio; nothing where the trainer recorded that it masked the token", {},
        RecordedMask,
    ),
}  # fmt: skip
"""Every rule by name."""


def update_rule(name: str, thresholds: Mapping[str, float]) -> UpdateRule:
    """Return a rule with these thresholds, and its usual ones for the others.

    Raises `ValueError` for an unknown rule or threshold, and names the known ones.
    """
    kind = UPDATES.get(name)
    if kind is None:
        raise ValueError(f"no rule {name!r}; there are: {', '.join(UPDATES)}")
    known = [*kind.thresholds, *kind.optional]
    if unknown := thresholds.keys() - set(known):
        raise ValueError(f"{kind.title} has no threshold {min(unknown)!r}; it has: {', '.join(known) or 'none'}")
    return kind.make(**{**kind.thresholds, **thresholds})


def full_coefficients(tokens: LossInputs, rule: UpdateRule) -> Floats:
    """Return what `g` would be if the rule took no token out, shape (T,). Without a KL penalty."""
    if isinstance(rule, ClippedSequence):
        return _under_mask(tokens, _times(tokens.advantages, tokens.compared("sequence_ratio")))
    if isinstance(rule, Clipped | Masked | RecordedMask):
        return _under_mask(tokens, _times(tokens.advantages, tokens.ratios))
    return rule.coefficients(tokens)


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


def is_summed(coefficients: Floats) -> Flags:
    """Return which coefficients are in sums, shape (T,): those that are known and not too large."""
    found: Flags = np.abs(coefficients) <= MAX_SIZE
    return found


def aggregation_weight(token_count: int, aggregation: Aggregation) -> float:
    """Return the weight of each token of a sequence of so many, up to a factor that a step has for all its tokens."""
    return 1 / max(1, token_count) if aggregation == "sequence_mean" else 1.0


def _times(advantages: Floats, ratios: Floats) -> Floats:
    """The product, 0 for an advantage of 0 even if the ratio is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where((advantages == 0) & ~np.isnan(ratios), 0.0, advantages * ratios)


def _without(tokens: LossInputs, ratios: Floats, flags: MaskFlags) -> Floats:
    return np.where(flags.masked, 0.0, _under_mask(tokens, _times(tokens.advantages, ratios)))


def _under_mask(tokens: LossInputs, values: Floats) -> Floats:
    return np.where(tokens.loss_mask, values, 0.0)
