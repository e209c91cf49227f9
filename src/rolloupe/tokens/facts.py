"""Facts of token series from a scan, which keeps none of the values: moments and extremes of each series."""

import math
from collections.abc import Mapping

import numpy as np

from rolloupe.model import SeriesFacts
from rolloupe.tokens.arrays import Floats

AT_ONCE = 2**15
"""How many values to process together: many short series cost little more than one, but long ones leave the cache."""


def facts_of(series: Mapping[str, Floats]) -> dict[str, SeriesFacts]:
    """Return the facts of series of one length, each of shape (T,), over their finite values; none without such.

    Of equal extremes, the first token counts. Squares are of distances from the mean, because others lose digits.
    """
    values = list(series.values())
    if not values or not len(values[0]):
        return {}
    if len(values) * len(values[0]) <= AT_ONCE:
        together = np.concatenate(values).reshape(len(values), -1)
        with np.errstate(all="ignore"):
            sums = together.sum(axis=1)
        if np.isfinite(sums).all():  # every value is finite then
            return dict(zip(series, _facts(together, sums), strict=True))
    found = {name: _facts_of_one(one) for name, one in series.items()}
    return {name: facts for name, facts in found.items() if facts is not None}


def _facts(values: Floats, sums: Floats) -> list[SeriesFacts]:
    """Return facts of finite `values`, shape (S, T) with one series per row, and their `sums`, shape (S,)."""
    series, length = values.shape
    with np.errstate(all="ignore"):  # 1e308 + 1e308 is inf, and that is the honest sum
        centred = values - (sums / length)[:, None]
        m2s = np.square(centred, out=centred).sum(axis=1)
    min_at, max_at, rows = values.argmin(axis=1), values.argmax(axis=1), np.arange(series)
    columns = (sums, m2s, values[rows, min_at], min_at, values[rows, max_at], max_at)
    return [SeriesFacts(length, *facts) for facts in zip(*(column.tolist() for column in columns), strict=True)]


def _facts_of_one(values: Floats) -> SeriesFacts | None:
    with np.errstate(all="ignore"):
        total = values.sum()
    if math.isfinite(total):
        return _facts(values[None, :], np.array([total]))[0]
    finite = np.isfinite(values)
    finite_values = values[finite]
    if not len(finite_values):
        return None
    with np.errstate(all="ignore"):
        (facts,) = _facts(finite_values[None, :], np.array([finite_values.sum()]))
    places = np.flatnonzero(finite)
    return SeriesFacts(
        facts.count, facts.sum, facts.m2, facts.min, int(places[facts.min_at]), facts.max, int(places[facts.max_at])
    )
