"""Advantages of groups, against closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import tokens
from rolloupe.tokens.series import EPSILON

rewards = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=16).map(np.array)


@given(rewards)
def test_advantages_have_no_mean_and_nearly_a_deviation_of_one(values: tokens.Floats) -> None:
    found = tokens.group_advantages(values)
    assert found.sum() == pytest.approx(0, abs=1e-6)
    if values.std() > 1e-3:
        std = values.std(ddof=1)
        assert found.std(ddof=1) == pytest.approx(std / (std + EPSILON))


def test_a_group_without_spread_teaches_nothing() -> None:
    assert tokens.group_advantages(np.array([3.0, 3.0])).tolist() == [0.0, 0.0]
    assert tokens.group_advantages(np.array([699051.3780084] * 3)).tolist() == [0.0] * 3
    assert tokens.group_advantages(np.array([3.0])).tolist() == [0.0]
    assert np.isnan(tokens.group_advantages(np.array([np.nan]))).all()


def test_a_missing_reward_counts_nowhere() -> None:
    found = tokens.group_advantages(np.array([1.0, np.nan, 0.0]))
    half = 0.5 / (math.sqrt(0.5) + EPSILON)
    assert found[[0, 2]] == pytest.approx([half, -half]) and math.isnan(found[1])
