"""Rules that take tokens out of the loss, against their formulas token by token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import tokens
from rolloupe.tokens import CLIP, DPPO, ICEPOP, IPO, LossInputs, MaskFlags

numbers = st.floats(-4, 0) | st.just(float("nan")) | st.just(float("-inf"))
token = st.tuples(numbers, numbers, st.sampled_from([-1.5, 0.0, 1.0, float("nan")]), st.booleans())


def of(rows: list[tuple[float, float, float, bool]]) -> LossInputs:
    logprobs, old, advantages, mask = (np.array(column) for column in zip(*rows, strict=True))
    return LossInputs(logprobs, old, advantages, mask.astype(bool))


def plain(rule: tokens.MaskRule, row: tuple[float, float, float, bool]) -> bool:
    """The definition of a rule for one token, in Python's own floats."""
    logprob, old, advantage, trained = row
    with np.errstate(all="ignore"):
        ratio, delta = float(np.exp(np.subtract(logprob, old))), float(np.exp(logprob) - np.exp(old))
    if not trained:
        return False
    at = rule.thresholds
    if rule.name == "dppo":
        return delta > at["high"] if advantage > 0 else delta < -at["low"]
    if rule.name == "icepop":
        return ratio > at["high"] or ratio < at["low"]
    if rule.name == "ipo":
        return abs(delta) > at["threshold"]
    assert rule.name == "ppo"
    if advantage > 0:
        return ratio > 1 + at["high"]
    return advantage < 0 and (ratio < 1 - at["low"] or ("dual" in at and ratio > at["dual"]))


RULES = [DPPO, DPPO.at(low=0.05, high=0.3), ICEPOP, ICEPOP.at(low=0.5), IPO, CLIP, CLIP.at(high=0.28, dual=3.0)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name}-{rule.thresholds}")
@given(rows=st.lists(token, min_size=1, max_size=12))
def test_a_rule_takes_out_what_its_definition_says(
    rule: tokens.MaskRule, rows: list[tuple[float, float, float, bool]]
) -> None:
    flags = rule.flags(of(rows))
    assert flags.masked.tolist() == [plain(rule, row) for row in rows]
    assert not (flags.high & flags.low).any()
    sides = flags.high | flags.low
    assert (sides & ~flags.masked).sum() == 0
    if rule.name != "dppo":  # which has no side at an advantage of 0
        assert (sides == flags.masked).all()


@given(rows=st.lists(token, min_size=1, max_size=12))
def test_a_sequence_is_taken_out_as_a_whole(rows: list[tuple[float, float, float, bool]]) -> None:
    now = of(rows)
    flags: MaskFlags = tokens.SEQUENCE_CLIP.at(low=0.1, high=0.1).flags(now)
    ratio, under = now.sequence_ratio, now.loss_mask
    too_far = [
        trained and ((advantage > 0 and ratio > 1.1) or (advantage < 0 and ratio < 0.9))
        for trained, advantage in zip(under.tolist(), now.advantages.tolist(), strict=True)
    ]
    assert flags.masked.tolist() == too_far


def test_the_ratio_of_a_sequence_is_a_geometric_mean() -> None:
    now = LossInputs(np.log([0.5, 0.5, 0.9]), np.log([0.25, 1.0, 0.1]), np.ones(3), np.array([True, True, False]))
    assert now.sequence_ratio == pytest.approx((2.0 * 0.5) ** 0.5)
    assert np.isnan(LossInputs(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1, dtype=bool)).sequence_ratio)


def test_icepop_compares_with_the_inference_engine() -> None:
    now = LossInputs(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1, dtype=bool), inference_logprobs=np.array([-3.0]))
    assert ICEPOP.flags(now).high.tolist() == [True]
