"""The most extreme tokens, against a sort of all of them."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rolloupe.index.token_stats.series import MAX_KEPT, KeptTokens, SeriesTotals, largest
from rolloupe.tokens import Floats, SampleTokens, TokenBatch
from tests.thoroughness import each


def batch_of(rows: Sequence[int], arrays: Sequence[Floats], prompt: int = 0) -> TokenBatch:
    """Samples with a series `x` behind a prompt without values."""
    found = []
    for values in arrays:
        mask = np.repeat([0.0, 1.0], [prompt, len(values)])
        series = {"loss_mask": mask, "x": np.concatenate([np.full(prompt, np.nan), values])}
        found.append(SampleTokens(len(mask), series))
    return TokenBatch(rows, found, [None] * len(found))


def brute(rows: Sequence[int], arrays: Sequence[Floats], prompt: int, *, highest: bool, one: bool) -> list[object]:
    sign = -1.0 if highest else 1.0
    every = [
        (sign * value, row, prompt + place)
        for row, values in zip(rows, arrays, strict=True)
        for place, value in enumerate(values.tolist())
        if not np.isnan(value) and value != sign * np.inf
    ]
    every.sort()
    if one:
        first = dict[int, tuple[float, int, int]]()
        for token in every:
            first.setdefault(token[1], token)
        every = sorted(first.values())
    return [(sign * value, row, place) for value, row, place in every[:MAX_KEPT]]


@each("kind", ["noise", "few values", "one value", "two halves", "gaps", "infinite"])
@each("length", [40, 600])
def test_the_most_extreme_tokens_are_those_of_a_sort(kind: str, length: int) -> None:
    rng = np.random.default_rng(0)
    makers: dict[str, Callable[[], Floats]] = {
        "noise": lambda: rng.normal(size=length),
        "few values": lambda: rng.integers(0, 3, length).astype(np.float64),
        "one value": lambda: np.zeros(length),
        "two halves": lambda: np.repeat(rng.integers(0, 2, 2).astype(np.float64), length // 2),
        "gaps": lambda: np.where(rng.random(length) < 0.3, np.nan, rng.normal(size=length)),
        "infinite": lambda: np.where(rng.random(length) < 0.2, np.inf, rng.normal(size=length)),
    }
    arrays, prompt = [makers[kind]() for _ in range(12)], 7
    totals = SeriesTotals("recorded")
    for first in (0, 6):
        totals.add(batch_of(range(first, first + 6), arrays[first : first + 6], prompt), "x")
    for number, kept in enumerate(totals.kept):
        expected = brute(range(12), arrays, prompt, highest=number % 2 == 1, one=number >= 2)
        assert [one[:3] for one in kept.tokens()] == expected
    finite = np.concatenate(arrays)[np.isfinite(np.concatenate(arrays))]
    assert totals.histogram().total == totals.tokens == len(finite)
    assert totals.histogram().percentile(0.5) == pytest.approx(np.sort(finite)[(len(finite) - 1) // 2], rel=0.01)


def test_the_largest_of_many_equal_values_are_the_first() -> None:
    values = np.repeat([1.0, 2.0, 1.0], [5, 90, 5])
    assert largest(values, 64).tolist() == [*range(5, 69)]
    assert sorted(largest(values, 93).tolist()) == [0, 1, 2, *range(5, 95)]
    assert KeptTokens(highest=True, one_a_sample=False).tokens() == []


def test_a_prompt_without_values_is_left_out_and_one_with_values_is_not() -> None:
    batch = batch_of([3, 5], [np.ones(4), np.zeros(2)], 10)
    assert batch.places.tolist() == [10, 11, 12, 13, 10, 11] and batch.rows.tolist() == [3, 5]
    series = {"loss_mask": np.array([0.0, 0.0, 1.0]), "x": np.array([np.nan, 1.0, 2.0])}
    assert TokenBatch([0], [SampleTokens(3, series)], [None]).places.tolist() == [1, 2]
