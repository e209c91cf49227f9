"""Fewer points: whatever the values are, the extremes and the gaps of every stretch survive."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.query.curves.curve import LEAST_OF_BAND, LEAST_POINTS, places, smoothed
from rolloupe.wire.encoding import number

GOLDEN = Path(__file__).parents[2] / "data/wire/averages.json"

numbers = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(st.lists(numbers, max_size=300), st.integers(LEAST_POINTS, 80))
def test_the_bound_holds_and_what_stands_out_survives(values: list[float], most: int) -> None:
    array = np.array(values, dtype=np.float64)
    kept = places(array, most)
    assert len(kept) <= most and list(kept) == sorted(set(kept.tolist()))
    if len(array) <= most:
        assert list(kept) == list(range(len(array)))
        return
    assert kept[0] == 0 and kept[-1] == len(array) - 1
    there = array[~np.isnan(array)]
    if len(there):
        assert {there.min(), there.max()} <= set(array[kept].tolist())
    assert np.isnan(array[kept]).any() == np.isnan(array).any()


across = st.floats(-1e100, 1e100) | st.integers(0, 5).map(float)


@given(st.lists(st.tuples(across, numbers), max_size=300), st.integers(LEAST_POINTS, 80))
def test_across_any_x_the_bound_holds_and_the_extremes_of_every_column_survive(
    points: list[tuple[float, float]], most: int
) -> None:
    x, values = np.array(points, dtype=np.float64).reshape(-1, 2).T
    kept = places(values, most, None, x)
    assert len(kept) <= most and list(kept) == sorted(set(kept.tolist()))
    if len(points) <= most:
        assert list(kept) == list(range(len(points)))
        return
    assert {x.min(), x.max()} <= set(x[kept].tolist())
    buckets = (most - 2) // (3 if np.isnan(values).any() else 2)
    width = (x.max() - x.min()) / buckets or 1.0
    column, inside = np.minimum((x - x.min()) // width, buckets - 1), np.isin(np.arange(len(x)), kept)
    for at in set(column.tolist()):
        of, survived = values[column == at], values[(column == at) & inside]
        assert np.isnan(of).any() == np.isnan(survived).any()
        if not np.isnan(of).all():
            assert (np.nanmin(survived), np.nanmax(survived)) == (np.nanmin(of), np.nanmax(of))


def test_the_extremes_of_every_bucket_survive() -> None:
    random = np.random.default_rng(7)
    values = random.normal(size=100_000)
    values[[31_415, 92_653]] = [1e9, -1e9]
    values[58_979:59_100] = math.nan
    kept = places(values, 302)
    assert len(kept) <= 302
    size = -(-len(values) // 100)  # three places of each bucket, the first, and the last
    for start in range(0, len(values), size):
        bucket = values[start : start + size]
        inside = values[kept[(kept >= start) & (kept < start + size)]]
        assert np.nanmin(inside) == np.nanmin(bucket) and np.nanmax(inside) == np.nanmax(bucket)
        assert np.isnan(inside).any() == np.isnan(bucket).any()


@given(
    st.lists(st.tuples(st.floats(-100, 100), numbers, st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=200),
    st.integers(LEAST_POINTS, 80),
)
def test_the_extremes_of_a_band_survive_too(points: list[tuple[float, float, float, float]], most: int) -> None:
    x, values, below, above = np.array(points, dtype=np.float64).T
    band = values - below, values + above
    for kept in (places(values, most, band), places(values, most, band, x)):
        assert len(kept) <= most
        if most >= LEAST_OF_BAND and not np.isnan(values).all():
            assert np.nanmin(band[0][kept]) == np.nanmin(band[0]) and np.nanmax(band[1][kept]) == np.nanmax(band[1])


def test_a_moving_average_is_corrected_for_its_start() -> None:
    steps = np.array([0, 1, 2, 5, 6])
    constant = smoothed(steps, np.full(5, 3.0), 10)
    assert constant == pytest.approx([3.0] * 5)
    values = np.array([1.0, math.nan, 3.0, math.inf, 2.0])
    keep, result = 1 - 2 / 11, smoothed(steps, values, 10)
    third = (3 + keep**2) / (1 + keep**2)
    last = (2 + keep**4 * 3 + keep**6) / (1 + keep**4 + keep**6)
    assert result[[0, 2, 4]] == pytest.approx([1.0, third, last])
    assert np.isnan(result[[1, 3]]).all()


def test_a_spike_decays_by_the_formula_of_the_average() -> None:
    """Its part falls by 1 - 2 / (span + 1) a step, beside the sum of the weights of all steps so far."""
    steps, values, keep = np.arange(300), np.ones(300), 1 - 2 / 21
    values[40] = 1e6
    weights = np.cumsum(keep**steps)
    part = np.where(steps < 40, 0.0, keep ** (steps - 40.0) / weights)
    assert smoothed(steps, values, 20) == pytest.approx(1 + (1e6 - 1) * part, rel=1e-9)


@given(
    st.lists(st.tuples(st.integers(1, 400), numbers | st.just(1.7e308)), max_size=80),
    st.integers(1, 1_000_000),
    st.integers(-(2**62), 2**62),
)
def test_a_moving_average_is_that_of_one_point_after_another(
    points: list[tuple[int, float]], span: int, start: int
) -> None:
    steps = start + np.cumsum([gap for gap, _ in points], dtype=np.int64)
    values = np.array([value for _, value in points], dtype=np.float64)
    keep, mean, weight, last = 1 - 2 / (span + 1), 0.0, 0.0, 0
    found = smoothed(steps, values, span)
    largest = max((abs(value) for value in values.tolist() if math.isfinite(value)), default=0.0)
    for step, value, average in zip(steps.tolist(), values.tolist(), found.tolist(), strict=True):
        if not math.isfinite(value):
            assert math.isnan(average)
            continue
        before = keep ** (step - last) * weight if weight else 0.0
        weight, last = before + 1, step
        mean = mean * (before / weight) + value / weight
        assert average == pytest.approx(mean, rel=1e-9, abs=largest * 1e-12)


def test_the_golden_file_of_averages_is_what_is_computed_now() -> None:
    """With ROLLOUPE_WRITE_GOLDEN=1 the file is written; the average and the points of the browser are tested on it."""
    random = np.random.default_rng(7)
    steps = np.cumsum(random.choice([1, 1, 1, 2, 7, 400], 600)) - 40
    values = random.normal(size=600) * 10.0 ** random.integers(-3, 3, 600)
    values[random.integers(0, 600, 40)] = math.nan
    values[[0, 99]] = math.inf, -math.inf
    spread = random.gamma(1, size=600) * 50
    band = values - spread, values + spread
    golden: dict[str, Any] = {
        "steps": steps.tolist(),
        "spread": spread.tolist(),
        "values": [number(value) for value in values.tolist()],
        "shown": places(values, 60).tolist(),
        "banded": {str(most): places(values, most, band).tolist() for most in (5, 7, 60, 600)},
        "means": {
            str(span): [number(mean) for mean in smoothed(steps, values, span).tolist()] for span in (1, 10, 200)
        },
    }
    if os.environ.get("ROLLOUPE_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(golden))
    kept = json.loads(GOLDEN.read_text())
    assert kept["means"].keys() == golden["means"].keys()
    for span, means in golden["means"].items():
        assert [float(mean) for mean in kept["means"][span]] == pytest.approx(
            [float(mean) for mean in means], rel=1e-12, abs=1e-12, nan_ok=True
        )
    assert {**kept, "means": None} == {**golden, "means": None}
