"""Histograms of series: percentiles within their bound, and that of a whole equals the sum of those of its parts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.index.token_stats.series import (
    EMPTY_HISTOGRAM,
    LARGEST,
    Histogram,
    histogram_of,
    merged_histograms,
    unpacked_histogram,
)

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-10, 10) | st.sampled_from([0.0, -0.0, 1.0])
values = st.lists(numbers, max_size=300).map(lambda some: np.array(some, np.float64))
BOUND = 2**-7 * (1 + 1e-6)


def same(one: Histogram, other: Histogram) -> bool:
    return np.array_equal(one.buckets, other.buckets) and np.array_equal(one.counts, other.counts)


@given(st.lists(values, max_size=5))
def test_the_histogram_of_a_whole_is_that_of_its_parts_merged(parts: list[np.ndarray]) -> None:
    whole = histogram_of(np.concatenate([*parts, np.zeros(0)]))
    assert same(merged_histograms(map(histogram_of, parts)), whole)
    assert same(unpacked_histogram(*whole.packed()), whole)


@given(values.filter(len), st.floats(0, 1))
def test_a_percentile_is_within_its_bound(some: np.ndarray, share: float) -> None:
    true = float(np.sort(some)[max(1, math.ceil(share * len(some))) - 1])
    found = histogram_of(some).percentile(share)
    clipped = min(LARGEST, max(-LARGEST, true))
    assert abs(found - clipped) <= max(BOUND * abs(clipped), 1e-38)


def test_many_values_of_a_smooth_distribution_are_far_closer() -> None:
    some = np.random.default_rng(0).lognormal(0, 0.02, 100_000)  # as ratios of policies are
    histogram = merged_histograms([histogram_of(part) for part in np.array_split(some, 7)])
    for share in (0.01, 0.25, 0.5, 0.75, 0.99):
        assert histogram.percentile(share) == pytest.approx(np.quantile(some, share), rel=1e-3)


def test_large_counts_keep_their_digits_and_nothing_is_nan() -> None:
    many = Histogram(np.array([16256], np.uint32), np.array([2**40]))
    assert same(unpacked_histogram(*many.packed()), many) and many.total == 2**40
    assert math.isnan(EMPTY_HISTOGRAM.percentile(0.5)) and merged_histograms([]) is EMPTY_HISTOGRAM
