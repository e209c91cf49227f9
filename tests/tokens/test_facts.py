"""Facts of token series: those of their finite values, one by one or together."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolloupe.tokens import facts_of, series

numbers = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
tables = st.integers(0, 12).flatmap(
    lambda length: st.dictionaries(st.text(max_size=3), st.lists(numbers, min_size=length, max_size=length), max_size=4)
)


@given(tables, st.sampled_from([1, 2**15]))
def test_facts_are_those_of_the_finite_values(table: dict[str, list[float]], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(series, "AT_ONCE", at_once)
        found = facts_of({name: np.array(values, dtype=np.float64) for name, values in table.items()})
    assert list(found) == [name for name, values in table.items() if any(map(math.isfinite, values))]
    for name, one in found.items():
        finite = [value for value in table[name] if math.isfinite(value)]
        assert one.count == len(finite)
        assert one.sum == pytest.approx(math.fsum(finite), abs=1e-6)
        assert one.m2 / one.count == pytest.approx(statistics.pvariance(finite), rel=1e-6, abs=1e-3)
        assert (one.min, one.max) == (min(finite), max(finite))
        assert (one.min_at, one.max_at) == (table[name].index(min(finite)), table[name].index(max(finite)))


def test_sums_beyond_a_float_are_infinite() -> None:
    one = facts_of({"a": np.array([1e308, 1e308, math.nan])})["a"]
    assert (one.count, one.sum, one.max, one.max_at) == (2, math.inf, 1e308, 0)
