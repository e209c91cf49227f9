"""The inputs of a loss, the tokens that its rule takes out, and the effect of a training step on the others.

A mask rule compares one series with limits that may depend on the sign of a token's advantage, so a rule is data: its
`limits` describe it completely, and a page can apply it with other thresholds. A rule never takes out a token outside
the loss mask, nor one with a NaN in what the rule compares.

The objective's gradient is the sum over tokens of `w * g * grad log pi(token)`: the sign of the coefficient `g` says
whether the step pushes the token up or down, its size how hard; `w` is the weight of the aggregation. The coefficients
hold at the recorded numbers, that is for the first minibatch of a step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rolloupe.model import Aggregation, RunLoss
from rolloupe.tokens.arrays import ADVANTAGES, GROUP_ADVANTAGES, Flags, Floats
from rolloupe.tokens.series import POLICY, RECORDED_MASK, SampleSeries, importance_ratio, log_ratio, prob_delta, trained

Compared: TypeAlias = Literal["prob_delta", "importance_ratio", "update_ratio", "sequence_ratio"]
"""The values that a rule may compare, by the names of token series."""


@dataclass(frozen=True)
class LossInputs:
    """The inputs of a loss for one response; every array has shape (T,), T tokens, log-probabilities are in nats.

    `old_logprobs` are those of the policy that the ratio compares with: the sampling policy, or the proximal one (the
    policy at the start of the step). Outside `loss_mask` nothing counts. Every value computed from a NaN is NaN.
    """

    logprobs: Floats
    old_logprobs: Floats
    advantages: Floats
    loss_mask: Flags
    ref_logprobs: Floats | None = None
    inference_logprobs: Floats | None = None
    """The logprobs of the inference engine; None if they are `old_logprobs`."""
    sequence_ratios: Floats | None = None
    """For each token, the ratio of its sequence, if known: the arrays may hold several responses."""
    recorded_mask: Flags | None = None
    """The tokens that the trainer recorded as taken out of the loss, if it recorded any flags."""

    @cached_property
    def log_ratios(self) -> Floats:
        """Return `logprobs - old_logprobs`."""
        return log_ratio(self.logprobs, self.old_logprobs)

    @cached_property
    def ratios(self) -> Floats:
        """Return the importance ratio of each token."""
        return importance_ratio(self.log_ratios)

    @cached_property
    def deltas(self) -> Floats:
        """Return how far the probability of each token has moved from that of the inference engine."""
        return prob_delta(self.logprobs, self._engine_logprobs)

    @cached_property
    def engine_ratios(self) -> Floats:
        """Return the ratio of the trainer's probability to the inference engine's."""
        return importance_ratio(log_ratio(self.logprobs, self._engine_logprobs))

    def compared(self, name: Compared) -> Floats:
        """Return the values that a rule compares, shape (T,)."""
        if name == "sequence_ratio":
            several = self.sequence_ratios
            return np.full(self.advantages.shape, self.sequence_ratio) if several is None else several
        if name == "prob_delta":
            return self.deltas
        return self.ratios if name == "update_ratio" else self.engine_ratios

    @cached_property
    def sequence_ratio(self) -> float:
        """Return the geometric mean of the ratios under the mask, NaN without a token there.

        Source: GSPO (Zheng et al. 2025), where it replaces the ratio of each token.
        """
        under = self.log_ratios[self.loss_mask]
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.exp(under.mean())) if under.size else float("nan")

    @property
    def _engine_logprobs(self) -> Floats:
        return self.old_logprobs if self.inference_logprobs is None else self.inference_logprobs


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


class Limit(Struct, frozen=True):
    """Takes out the tokens whose value is beyond `base + factor * value`, if their advantage has one of the signs."""

    threshold: str
    """The name of the threshold; `value` is its value."""
    value: float
    """NaN: the limit takes no token out."""
    side: Literal["low", "high"]
    """`high`: values above the limit are taken out; `low`: values below it."""
    signs: tuple[Sign, ...] = ANY_SIGN
    base: float = 0.0
    factor: float = 1.0

    @property
    def bound(self) -> float:
        """The last value that is left in the loss."""
        return self.base + self.factor * self.value


class MaskRule(Struct, frozen=True):
    """A rule with its usual thresholds, or with others."""

    name: str
    title: str
    compares: Compared
    """The series that the rule compares."""
    sides: tuple[Limit, ...]

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits whose threshold is set."""
        return tuple(side for side in self.sides if not isnan(side.value))

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds that are set, by name."""
        return {limit.threshold: limit.value for limit in self.limits}

    def at(self, **thresholds: float) -> "MaskRule":
        """Return the rule with these thresholds; the others stay."""
        sides = (replace(side, value=thresholds.get(side.threshold, side.value)) for side in self.sides)
        return replace(self, sides=tuple(sides))

    def flags(self, tokens: LossInputs) -> MaskFlags:
        """Return the tokens that the rule takes out."""
        return self.flags_of(tokens.compared(self.compares), tokens.advantages, tokens.loss_mask)

    def flags_of(self, values: Floats, advantages: Floats, loss_mask: Flags) -> MaskFlags:
        """Return the tokens that the rule takes out, from the values of the compared series, all of shape (T,).

        A token without an advantage is flagged high or low only if the rule ignores advantages.
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


DPPO = MaskRule(
    "dppo",
    "DPPO",
    "prob_delta",
    (Limit("low", 0.2, "low", ("zero", "down"), factor=-1.0), Limit("high", 0.2, "high", ("up",))),
)
"""Takes out a token whose probability has already moved too far in the direction of its advantage.

At an advantage of 0 the low threshold decides, and neither side is flagged. Source: prime-rl, DPPO-Binary-TV in
`trainer/rl/loss.py`."""

ICEPOP = MaskRule(
    "icepop", "IcePop (prime-rl)", "importance_ratio", (Limit("low", 0.2, "low"), Limit("high", 5.0, "high"))
)
"""Takes out a token if the ratio of trainer to inference engine is outside `[low, high]`.

The bounds are prime-rl's defaults. Source: IcePop (Ant Ling 2025)."""

ANT_ICEPOP = replace(ICEPOP.at(low=0.5), name="icepop_ant", title="IcePop (Ant)")
"""IcePop with the bounds of its authors. Source: IcePop (Ant Ling 2025), `alpha` 0.5 and `beta` 5."""

IPO = MaskRule(
    "ipo", "IPO", "prob_delta", (Limit("threshold", 0.1, "low", factor=-1.0), Limit("threshold", 0.1, "high"))
)
"""Takes out a token whose probability moved by more than `threshold`. Source: prime-rl."""

_CLIP = (Limit("low", 0.2, "low", ("down",), 1.0, -1.0), Limit("high", 0.2, "high", ("up",), 1.0))

CLIP = MaskRule("ppo", "PPO, GRPO", "update_ratio", (*_CLIP, Limit("dual", nan, "high", ("down",))))
"""Takes out the tokens to which a clipped loss gives no gradient.

These are tokens with `A > 0` and a ratio above `1 + high`, and with `A < 0` and a ratio below `1 - low`, or above
`dual` if given. Sources: PPO (Schulman et al. 2017); the dual clip of Ye et al. 2020."""

CLIP_HIGHER = replace(CLIP.at(high=0.28), name="dapo", title="DAPO")
"""The clip of DAPO, whose upper threshold is higher. Source: Yu et al. 2025."""

SEQUENCE_CLIP = MaskRule("gspo", "GSPO", "sequence_ratio", _CLIP).at(low=3e-4, high=4e-4)
"""As `CLIP`, with the ratio of the whole sequence for each of its tokens. Source: GSPO (Zheng et al. 2025)."""

MASK_RULES = (DPPO, ICEPOP, ANT_ICEPOP, IPO, CLIP, CLIP_HIGHER, SEQUENCE_CLIP)

COMPARED_INSTEAD = {"update_ratio": "importance_ratio"}
"""Without logprobs from before the step, a clip compares with those at sampling."""


def mask_rules(series: Sequence[SampleSeries], loss: RunLoss | None = None) -> list[tuple[MaskRule, str]]:
    """Return the rules that can be applied to these series, and the series that each compares.

    The rule of the run's loss comes first, with the run's thresholds.
    """
    names = [known.name for known in series]
    rules = []
    for usual in sorted(MASK_RULES, key=lambda usual: loss is None or usual.name != loss.rule):
        rule = usual.at(**loss.thresholds) if loss is not None and usual.name == loss.rule else usual
        compared = (rule.compares, COMPARED_INSTEAD.get(rule.compares))
        name = next((name for name in compared if name in names), None)
        needs_advantages = any(limit.signs != ANY_SIGN for limit in rule.limits)
        if name is not None and (ADVANTAGES in names or not needs_advantages):
            rules.append((rule, name))
    return rules


def loss_inputs(series: Sequence[SampleSeries]) -> LossInputs | None:
    """Return the inputs of a loss for a sample; None without logprobs or without advantages.

    The policy's logprobs are the trainer's, else those before the step, else those at sampling. The advantages are
    those of the record, else those within the group.
    """
    values = {known.name: known.values for known in series if known.origin != "difference"}
    logprobs = next((values[name] for name in POLICY if name in values), None)
    advantages = values.get(ADVANTAGES, values.get(GROUP_ADVANTAGES))
    if logprobs is None or advantages is None:
        return None
    sampling, flags = values.get("logprobs", logprobs), values.get(RECORDED_MASK)
    return LossInputs(
        logprobs=logprobs,
        old_logprobs=values.get("old_logprobs", sampling),
        advantages=advantages,
        loss_mask=trained(values) & ~np.isnan(logprobs),
        ref_logprobs=values.get("ref_logprobs"),
        inference_logprobs=sampling,
        sequence_ratios=values.get("sequence_ratio"),
        recorded_mask=None if flags is None else flags == 1,
    )


MAX_SIZE = 1e290
"""Sums leave out larger coefficients: their sum could be infinite, though each is finite."""

RECORDED = "recorded"
"""Names the tokens that the trainer recorded as taken out, by any rule."""


class UpdateRule(NamedTuple):
    """A rule of the update: `g` is the advantage times a weight, and 0 for the tokens that the rule takes out."""

    weights: Callable[[LossInputs], Floats | float]
    """The weight of each token, mostly the ratio between the policies."""
    masked: Callable[[LossInputs], Flags] | None = None
    """The tokens that the rule takes out."""
    is_of_sequence: bool = False
    """True if the weight is the ratio of the whole sequence."""

    def full_coefficients(self, tokens: LossInputs) -> Floats:
        """Return what `g` would be if the rule took no token out, shape (T,); 0 outside the loss mask.

        It is 0 for an advantage of 0 even if the weight is infinite.
        """
        weights, advantages = self.weights(tokens), tokens.advantages
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = np.where((advantages == 0) & ~np.isnan(weights), 0.0, advantages * weights)
        return np.where(tokens.loss_mask, weighted, 0.0)

    def coefficients(self, tokens: LossInputs) -> Floats:
        """Return `g` for each token, shape (T,): 0 outside the loss mask, NaN where an input is."""
        full = self.full_coefficients(tokens)
        return full if self.masked is None else np.where(self.masked(tokens), 0.0, full)


class UpdateKind(NamedTuple):
    """A rule by its name in the field: what it does, and the thresholds that it takes."""

    title: str
    about: str
    thresholds: dict[str, float]
    """By name, with their usual values."""
    make: Callable[..., UpdateRule]
    optional: tuple[str, ...] = ()
    """Optional thresholds, which are usually not set."""


def _ratios(tokens: LossInputs) -> Floats:
    return tokens.ratios


def _masking(rule: MaskRule, about: str) -> UpdateKind:
    """Return the update that is weighted by the ratio and takes out the tokens of a mask rule."""

    def make(**thresholds: float) -> UpdateRule:
        own, is_of_sequence = rule.at(**thresholds), rule.compares == "sequence_ratio"
        weights = (lambda tokens: tokens.compared("sequence_ratio")) if is_of_sequence else _ratios
        return UpdateRule(weights, lambda tokens: own.flags(tokens).masked, is_of_sequence)

    optional = tuple(side.threshold for side in rule.sides if side.threshold not in rule.thresholds)
    return UpdateKind(rule.title, about, rule.thresholds, make, optional)


def _recorded(tokens: LossInputs) -> Flags:
    """Return the tokens that the trainer recorded as taken out. Raises `ValueError` without recorded flags."""
    if tokens.recorded_mask is None:
        raise ValueError("no recorded flags")
    return tokens.recorded_mask


_POPPED = "advantage × ratio; nothing where trainer and inference engine disagree; the bounds are"
_CLIPPED = "advantage × ratio; nothing where the ratio has left its bounds in the direction of the advantage"

UPDATES: dict[str, UpdateKind] = {
    "reinforce": UpdateKind(  # Williams 1992
        "REINFORCE", "the advantage alone, as for the policy's own samples", {}, lambda: UpdateRule(lambda _: 1.0)
    ),
    "importance_sampling": UpdateKind(  # `importance_sampling` of Tinker's API
        "Importance sampling", "advantage × ratio, without limits", {}, lambda: UpdateRule(_ratios)
    ),
    "ppo": _masking(CLIP, _CLIPPED),  # GRPO: Shao et al. 2024
    "dapo": _masking(CLIP_HIGHER, f"{_CLIPPED}; the upper bound is wider"),
    "gspo": _masking(
        SEQUENCE_CLIP, "advantage × ratio of the sequence; nothing for all its tokens where that has left its bounds"
    ),
    "cispo": UpdateKind(  # MiniMax-M1, 2025
        "CISPO",
        "advantage × ratio, the ratio never counted above its bound; no token is masked",
        {"high": 0.28},
        lambda high: UpdateRule(lambda tokens: np.minimum(tokens.ratios, 1 + high)),
    ),
    "icepop": _masking(ICEPOP, f"{_POPPED} prime-rl's"),
    "icepop_ant": _masking(ANT_ICEPOP, f"{_POPPED} those of Ant Ling 2025"),
    "dppo": _masking(
        DPPO, "advantage × ratio; nothing where the probability has moved too far in the advantage's direction"
    ),
    "ipo": _masking(IPO, "advantage × ratio; nothing where the probability has moved too far either way"),
    RECORDED: UpdateKind(
        "Recorded flags",
        "advantage × ratio; nothing where the trainer recorded that it masked the token",
        {},
        lambda: UpdateRule(_ratios, _recorded),
    ),
}
"""Every rule by name."""


def update_rule(name: str, thresholds: Mapping[str, float]) -> UpdateRule:
    """Return a rule with these thresholds; the others have their usual values.

    Raises `ValueError` for an unknown rule or threshold, and names the known ones.
    """
    kind = UPDATES.get(name)
    if kind is None:
        raise ValueError(f"no rule {name!r}; there are: {', '.join(UPDATES)}")
    known = [*kind.thresholds, *kind.optional]
    if unknown := thresholds.keys() - set(known):
        raise ValueError(f"{kind.title} has no threshold {min(unknown)!r}; it has: {', '.join(known) or 'none'}")
    return kind.make(**{**kind.thresholds, **thresholds})


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
        penalty = kl_weight * np.expm1(tokens.ref_logprobs - tokens.logprobs)
        return coefficients + np.where(tokens.loss_mask, penalty, 0.0)


def is_summed(coefficients: Floats) -> Flags:
    """Return which coefficients are in sums, shape (T,): those that are known and not too large."""
    found: Flags = np.abs(coefficients) <= MAX_SIZE
    return found


def aggregation_weight(token_count: int, aggregation: Aggregation) -> float:
    """Return the weight of each token of a sequence, up to a factor that all tokens of a step share."""
    return 1 / max(1, token_count) if aggregation == "sequence_mean" else 1.0
