"""Which points a curve has: outliers, the first step and the last one, before the average and before decimation."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import rolloupe
from rolloupe import Recorder
from rolloupe.errors import BadQuery
from rolloupe.query import CurveOptions, CurveQuery, curve
from rolloupe.query.curves.curve import USUAL, Range, inlier_bounds
from tests.index.support import opened

numbers = st.floats(-1e6, 1e6) | st.sampled_from([float("nan"), float("inf"), -float("inf")])


@given(st.lists(numbers, max_size=60), st.floats(0.1, 10))
def test_bounds_of_outliers_are_those_of_pandas(values: list[float], factor: float) -> None:
    array = np.array(values, dtype=np.float64)
    finite = pd.Series(array[np.isfinite(array)], dtype=float)
    low, high = inlier_bounds(array, factor)
    first, third = finite.quantile(0.25), finite.quantile(0.75)
    if (low, high) == (-np.inf, np.inf):
        assert finite.empty or third == pytest.approx(first)
        return
    assert low == pytest.approx(first - factor * (third - first), abs=1e-6)
    assert high == pytest.approx(third + factor * (third - first), abs=1e-6)


def test_what_is_left_out_is_counted_and_neither_in_the_average_nor_drawn(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    values = random.normal(5, 1, 600)
    values[[0, 30, 31, 400, 500]] = [90.0, 80.0, -70.0, np.nan, np.inf]
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step, value in enumerate(values.tolist()):
            recorder.metrics(step, {"kl": value})
    with opened(tmp_path / "run", tmp_path / "index") as library:
        (run,) = library.runs

        def ask(most: int | None = None, last: int | None = None, **options: object) -> rolloupe.query.Curve:
            asked = CurveQuery(kind="trainer", name="kl", options=CurveOptions(smooth=10, last_step=last, **options))  # type: ignore[pyrefly:bad-argument-type]
            return curve(run, asked, Range(most))

        whole = ask(outliers=3.0)
        series = pd.Series(values[np.isfinite(values)])
        first, third = series.quantile(0.25), series.quantile(0.75)
        every = (values < first - 3 * (third - first)) | (values > third + 3 * (third - first))
        assert every[0], "it is far off, but what a curve begins with stays: there a run learns"
        outside = every & (np.arange(600) > 0)
        assert {30, 31, 500} <= set(np.flatnonzero(outside).tolist())
        assert whole.left_out == outside.sum() and whole.points == 600 - whole.left_out
        assert whole.steps.tolist() == np.flatnonzero(~outside).tolist() and 400 in whole.steps
        keep, mean, weight, last = 1 - 2 / 11, 0.0, 0.0, 0
        for step in np.flatnonzero(~outside & np.isfinite(values)).tolist():
            decay = keep ** (step - last)
            mean, weight, last = mean * decay + values[step], weight * decay + 1, step
            assert whole.smooth is not None and whole.smooth[whole.steps == step][0] == pytest.approx(mean / weight)
        assert whole.steps[0] == 0 and whole.reach == (0.0, 599.0), "an axis reaches over those at its ends"
        assert [ask(last=20).reach, ask(last=31, outliers=3.0).reach] == [None, (0.0, 31.0)]
        few = ask(most=40, outliers=3.0)
        assert len(few.steps) <= 40 and (few.points, few.left_out) == (whole.points, whole.left_out)
        assert np.nanmax(few.values) == np.nanmax(whole.values) and np.nanmin(few.values) == np.nanmin(whole.values)
        assert few.smooth is not None and whole.smooth is not None
        np.testing.assert_array_equal(few.smooth, whole.smooth[np.searchsorted(whole.steps, few.steps)])

        assert ask(outliers=0.0).left_out == 0 and ask(outliers=0.0).values[0] == 90.0
        later = ask(skip_first=True)
        assert later.steps[0] == 1 and later.smooth is not None and later.smooth[0] == values[1]
        early = ask(last=20, outliers=3.0)
        low, high = pd.Series(values[:21]).quantile([0.25, 0.75])
        inside = (values[:21] >= low - 3 * (high - low)) & (values[:21] <= high + 3 * (high - low))
        inside[0] = True
        assert early.steps.tolist() == np.flatnonzero(inside).tolist(), (
            "the quartiles are those of the steps up to the last one"
        )
        assert early.left_out == 21 - inside.sum() > outside[:21].sum()
        zero = ask(last=20, from_zero=True)
        np.testing.assert_array_equal(zero.values, values[:21] - 90.0)
        plain = ask(last=20)
        assert zero.smooth is not None and plain.smooth is not None
        np.testing.assert_array_equal(zero.smooth, plain.smooth - 90.0)
        usual = CurveQuery(kind="trainer", name="kl", options=CurveOptions(smooth=USUAL))
        whole = curve(run, usual)
        widest = curve(run, CurveQuery(kind="trainer", name="kl", options=CurveOptions(smooth=50)))
        assert widest.smooth is not None, "the usual span is a tenth of the points, at most 50"
        np.testing.assert_array_equal(whole.smooth, widest.smooth)
        few = curve(run, replace(usual, options=replace(usual.options, last_step=28)))
        assert few.smooth is None and few.points == 29, "too few points for an average that nobody asked for"
        zoomed = curve(run, usual, Range(step_max=5))
        assert zoomed.smooth is not None and zoomed.points == 6, "what counts is the whole curve"
        with pytest.raises(BadQuery, match="-1 is usual"):
            curve(run, replace(usual, options=replace(usual.options, smooth=-2)))
        for wrong in (-1.0, float("nan"), 1e9):
            with pytest.raises(BadQuery, match="outliers is"):
                ask(outliers=wrong)


def test_zooming_in_moves_no_point_no_average_and_no_bound(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    values = random.normal(0, 1, 400) + np.arange(400) / 40
    values[[20, 350]] = [60.0, -60.0]
    with Recorder(tmp_path / "run", code=None) as recorder:
        for step, value in enumerate(values.tolist()):
            recorder.metrics(step, {"kl": value, "tokens": 10.0 * step})
    x = CurveQuery(kind="trainer", name="tokens")
    with opened(tmp_path / "run", tmp_path / "index") as library:

        def ask(step_min: int | None = None, x_min: float | None = None) -> rolloupe.query.Curve:
            options = CurveOptions(smooth=30, outliers=0.2, from_zero=True, skip_first=True, x_min=x_min)
            asked = CurveQuery(kind="trainer", name="kl", options=options, x=x)
            return curve(library.runs[0], asked, Range(step_min=step_min))

        whole = ask()
        assert whole.left_out > 2 and whole.smooth is not None
        for zoomed in (ask(step_min=300), ask(x_min=3000.0)):
            at = np.searchsorted(whole.steps, zoomed.steps)
            assert 0 < len(at) < 100 and zoomed.left_out == whole.left_out and zoomed.smooth is not None
            np.testing.assert_array_equal(zoomed.values, whole.values[at])
            np.testing.assert_array_equal(zoomed.smooth, whole.smooth[at])
