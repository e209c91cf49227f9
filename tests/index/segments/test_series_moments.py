"""Token series in the index: their moments at a step, wherever its samples lie."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.index.segments.samples import columns_of
from rolloupe.index.segments.step_stats import MAX_SERIES, StepStats, decoded, encoded, step_stats_of
from rolloupe.index.snapshot import Assembly, Piece
from rolloupe.model import SampleRow, SeriesFacts

values = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0])
tokens = st.tuples(st.integers(1, 50), st.integers(0, 90), st.integers(0, 90))
samples = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.dictionaries(st.sampled_from("abc"), st.tuples(values, values, tokens))),
    max_size=60,
)


def row(step: int, start: int, series: dict[str, SeriesFacts]) -> SampleRow:
    place = {"start": start, "part": str(start % 3 or ""), "length": 1, "ordinal": 0}
    return SampleRow(split="train", step=step, group="g", index=str(start), series=series, **place)


def facts(low: float, high: float, seen: tuple[int, int, int]) -> SeriesFacts:
    low, high = min(low, high), max(low, high)
    count, min_at, max_at = seen
    mean = (low + high) / 2
    return SeriesFacts(count, mean * count, (high - low) ** 2 / 2, low, min_at, high, max_at)


def piece(source: str, rows: list[SampleRow]) -> Piece:
    """A piece as it comes back from disk."""
    step_stats = step_stats_of(columns_of([rows])[0])
    return Piece(
        source,
        None,
        None,
        decoded(encoded(step_stats), list[StepStats]),
        (),
        (),
        False,
        0,
    )


@given(samples, st.lists(st.integers(0, 60), max_size=5))
def test_pieces_together_say_what_one_piece_says(drawn: list, cuts: list[int]) -> None:  # type: ignore[pyrefly:implicit-any-type-argument]
    rows = [row(step, n, {name: facts(*one) for name, one in found.items()}) for n, (step, found) in enumerate(drawn)]
    edges = [0, *sorted(cuts), len(rows)]
    parts = [piece("f", rows[a:b]) for a, b in pairwise(edges)]
    apart = Assembly().snapshot("", {}, parts)
    whole = Assembly().snapshot("", {}, [piece("f", rows)])
    assert apart.steps.keys() == whole.steps.keys()
    for key, stats in whole.steps.items():
        other = apart.steps[key].series
        assert stats.series.keys() == other.keys()
        for name, one in stats.series.items():
            a, b = one, other[name]
            assert (a.count, a.min, a.max) == (b.count, b.min, b.max)
            assert a.mean == pytest.approx(b.mean, rel=1e-9, abs=1e-3)
            assert a.std == pytest.approx(b.std, rel=1e-6, abs=1e-3)


def test_a_segment_holds_so_many_series_and_no_more() -> None:
    one = facts(0.0, 1.0, (1, 0, 0))
    (stats,) = step_stats_of(columns_of([[row(1, 0, {f"s{n}": one for n in range(MAX_SERIES + 9)})]])[0])
    assert list(stats.series) == [f"s{n}" for n in range(MAX_SERIES)]


def test_infinite_sums_do_no_harm(tmp_path: Path) -> None:
    one = SeriesFacts(2, math.inf, math.inf, 1.0, 0, 1e308, 1)
    snapshot = Assembly().snapshot("", {}, [piece("f", [row(1, n, {"a": one})]) for n in range(2)])
    assert snapshot.steps["train", 1].series["a"].max == 1e308
