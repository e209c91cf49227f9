"""Coefficients of the update against the derivative of each objective, taken by finite differences."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import tokens
from rolloupe.tokens import Floats, LossInputs

VOCABULARY = 5
STEP = 1e-6


def log_softmax(logits: Floats) -> Floats:
    shifted: Floats = logits - logits.max(axis=-1, keepdims=True)
    normed: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normed


def clip(ratios: Floats, low: float, high: float) -> Floats:
    return np.clip(ratios, 1 - low, 1 + high)


def ppo(low: float, high: float, dual: float = math.inf) -> Callable[[Floats, LossInputs], Floats]:
    def objective(logprobs: Floats, now: LossInputs) -> Floats:
        ratios = np.exp(logprobs - now.old_logprobs)
        least = np.minimum(ratios * now.advantages, clip(ratios, low, high) * now.advantages)
        return np.where(now.advantages < 0, np.maximum(least, dual * now.advantages), least)

    return objective


def gspo(low: float, high: float) -> Callable[[Floats, LossInputs], Floats]:
    def objective(logprobs: Floats, now: LossInputs) -> Floats:
        ratio = np.exp((logprobs - now.old_logprobs)[now.loss_mask].mean())
        least = np.minimum(ratio * now.advantages, clip(ratio, low, high) * now.advantages)
        return np.where(now.loss_mask, least, 0)  # one value a sequence, repeated for each token

    return objective


def cispo(high: float) -> Callable[[Floats, LossInputs], Floats]:
    return lambda logprobs, now: np.minimum(now.ratios, 1 + high) * now.advantages * logprobs


def masked(rule: tokens.MaskRule) -> Callable[[Floats, LossInputs], Floats]:
    def objective(logprobs: Floats, now: LossInputs) -> Floats:
        return np.where(rule.flags(now).masked, 0, np.exp(logprobs - now.old_logprobs) * now.advantages)

    return objective


def with_penalty(
    objective: Callable[[Floats, LossInputs], Floats], weight: float
) -> Callable[[Floats, LossInputs], Floats]:
    def penalised(logprobs: Floats, now: LossInputs) -> Floats:
        assert now.ref_logprobs is not None
        gap = now.ref_logprobs - logprobs
        return objective(logprobs, now) - weight * (np.exp(gap) - 1 - gap)

    return penalised


RULES = [
    ("reinforce", {}, lambda logprobs, now: now.advantages * logprobs),
    ("importance_sampling", {}, lambda logprobs, now: now.advantages * np.exp(logprobs - now.old_logprobs)),
    ("ppo", {}, ppo(0.2, 0.2)),
    ("ppo", {"low": 0.2, "high": 0.28, "dual": 3.0}, ppo(0.2, 0.28, 3.0)),
    ("gspo", {"low": 0.02, "high": 0.03}, gspo(0.02, 0.03)),
    ("cispo", {}, cispo(0.28)),
    ("icepop", {"low": 0.5, "high": 5.0}, masked(tokens.ICEPOP.at(low=0.5, high=5.0))),
    ("dppo", {}, masked(tokens.DPPO)),
]


@pytest.mark.parametrize("kl_weight", [0.0, 0.3])
@pytest.mark.parametrize(("rule", "thresholds", "objective"), RULES)
@given(seed=st.integers(0, 10_000))
def test_the_gradient_is_that_of_the_objective(
    rule: str,
    thresholds: dict[str, float],
    objective: Callable[[Floats, LossInputs], Floats],
    kl_weight: float,
    seed: int,
) -> None:
    """The gradient with respect to the logits of a small softmax policy."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 8))
    logits, chosen = random.normal(size=(count, VOCABULARY)), random.integers(0, VOCABULARY, count)
    logprobs = log_softmax(logits)[np.arange(count), chosen]
    now = LossInputs(
        logprobs=logprobs,
        old_logprobs=logprobs + random.normal(scale=0.5, size=count),
        ref_logprobs=logprobs + random.normal(scale=0.5, size=count),
        advantages=np.full(count, random.normal()),
        loss_mask=random.random(count) < 0.8,
    )
    whole = with_penalty(objective, kl_weight)

    def value(logits: Floats) -> float:
        logprobs = log_softmax(logits)[np.arange(count), chosen]
        return float(whole(logprobs, now)[now.loss_mask].sum())

    coefficients = tokens.update_coefficients(now, tokens.update_rule(rule, thresholds), kl_weight)
    # the gradient of log pi(chosen) with respect to the logits is onehot - pi
    expected = coefficients[:, None] * (np.eye(VOCABULARY)[chosen] - np.exp(log_softmax(logits)))
    for place in np.ndindex(logits.shape):
        nudge = np.zeros_like(logits)
        nudge[place] = STEP
        slope = (value(logits + nudge) - value(logits - nudge)) / (2 * STEP) if now.loss_mask.any() else 0.0
        assert slope == pytest.approx(expected[place], rel=1e-4, abs=1e-6)


def test_the_mask_makes_zeros_and_nan_stays_nan() -> None:
    now = LossInputs(
        logprobs=np.array([-1.0, np.nan, -1.0, -1.0]), old_logprobs=np.array([-1.0, -1.0, -2000.0, np.nan]),
        advantages=np.array([2.0, 1.0, 0.0, 1.0]), loss_mask=np.array([True, True, True, False]),
    )  # fmt: skip
    found = tokens.update_coefficients(now, tokens.update_rule("cispo", {"high": math.inf}))
    assert (found[0], found[2], found[3]) == (2.0, 0.0, 0.0) and math.isnan(found[1])


def test_a_penalty_needs_a_reference() -> None:
    now = LossInputs(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1, dtype=bool))
    with pytest.raises(ValueError, match="ref_logprobs"):
        tokens.update_coefficients(now, tokens.update_rule("reinforce", {}), 0.1)


@given(st.integers(1, 50))
def test_a_sequence_weighs_as_its_tokens_or_as_any_other(count: int) -> None:
    assert count * tokens.aggregation_weight(count, "token_mean") == count
    assert count * tokens.aggregation_weight(count, "sequence_mean") == pytest.approx(1.0)
    assert tokens.aggregation_weight(0, "sequence_mean") == 1.0


def test_a_dual_clip_takes_out_tokens_of_bad_samples_that_are_much_more_probable_now() -> None:
    now = LossInputs(np.log([4.0, 4.0, 2.5]), np.zeros(3), np.array([-1.0, 1.0, -1.0]), np.ones(3, dtype=bool))
    for name in ("ppo", "dapo"):
        found = tokens.update_coefficients(now, tokens.update_rule(name, {"dual": 3.0}))
        np.testing.assert_allclose(found, [0.0, 0.0, -2.5])
        np.testing.assert_allclose(tokens.update_coefficients(now, tokens.update_rule(name, {})), [-4.0, 0.0, -2.5])
