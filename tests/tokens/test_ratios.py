"""Formulas against closed forms, and against values computed another way."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe import tokens

floats = st.lists(st.floats(), max_size=20).map(lambda values: np.array(values, dtype=np.float64))
logprobs = st.lists(st.floats(-50, 0), min_size=1, max_size=20).map(np.array)


def test_closed_forms() -> None:
    ratio = tokens.log_ratio(np.array([-1.0, -2.0]), np.array([-1.5, -2.0]))
    assert ratio.tolist() == [0.5, 0.0]
    assert tokens.board_kl(ratio).tolist() == pytest.approx([math.exp(0.5) - 1.5, 0.0])


@given(logprobs)
def test_the_divergence_is_not_negative_and_zero_only_at_zero(values: tokens.Floats) -> None:
    found = tokens.board_kl(values)
    assert (found >= 0).all()
    assert tokens.board_kl(np.zeros(3)).tolist() == [0.0] * 3


@given(logprobs)
def test_the_divergence_is_the_formula_term_by_term(values: tokens.Floats) -> None:
    expected = [math.exp(value) - 1 - value for value in values]
    assert tokens.board_kl(values) == pytest.approx(expected, abs=1e-12)


def test_small_ratios_keep_their_digits() -> None:
    assert tokens.board_kl(np.array([1e-6]))[0] == pytest.approx(0.5e-12, rel=1e-3)


@given(floats)
def test_means_and_sums_leave_out_nan_and_never_warn(values: tokens.Floats) -> None:
    mean, total = tokens.nan_mean(values), tokens.nan_sum(values)
    if np.isnan(values).all():
        assert mean is None
        assert total is None
    else:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert mean == pytest.approx(float(np.nanmean(values)), nan_ok=True)
            assert total == pytest.approx(float(np.nansum(values)), nan_ok=True)


@given(floats, floats)
def test_no_pair_of_arrays_warns(a: tokens.Floats, b: tokens.Floats) -> None:
    length = min(len(a), len(b))
    tokens.board_kl(tokens.log_ratio(a[:length], b[:length]))


@pytest.mark.parametrize("value", [None, "x", {}, [], 3])
def test_what_is_no_array_is_absent(value: object) -> None:
    assert tokens.read_floats(value) is None


def test_elements_that_are_no_numbers_are_nan() -> None:
    found = tokens.read_floats([1, 2.5, True, None, "3", [4], 10**400, -(10**400)])
    assert found is not None
    assert repr(found.tolist()) == "[1.0, 2.5, 1.0, nan, nan, nan, inf, -inf]"


@pytest.mark.parametrize(
    ("pieces", "length"),
    [([], 0), (["a"], 1), (["a", "<PAD>"], 1), (["a", "<PAD>", "b", "<PAD>"], 1), (["<PAD>", "a"], 2), (["<PAD>"], 0)],
)
def test_padding_counts_only_where_it_ends_the_tokens(pieces: list[str], length: int) -> None:
    assert tokens.unpadded_length(pieces, "<PAD>") == length


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20).map(np.array))
def test_the_effective_size_is_between_one_and_all(weights: tokens.Floats) -> None:
    size = tokens.effective_sample_size(weights)
    assert size is not None and 1 - 1e-9 <= size <= len(weights) + 1e-9
    assert size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_equal_weights_count_each_and_large_ones_do_not_overflow() -> None:
    assert tokens.effective_sample_size(np.full(4, 1e200)) == pytest.approx(4)
    assert tokens.effective_sample_size(np.array([np.nan, 0.0])) is None
