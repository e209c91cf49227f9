"""All token series of a sample: those that its record holds, those that follow from them, and where the two differ."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rolloupe import tokens
from rolloupe.model import Sample, TokenSeries

Origin: TypeAlias = Literal["recorded", "derived", "difference"]

MASK, ADVANTAGES = "loss_mask", "advantages"


class SampleSeries(NamedTuple):
    """A token series over all tokens of a sample: `values` has the shape (T,), NaN for a token without a value."""

    name: str
    origin: Origin
    values: tokens.Floats


def series_of(sample: Sample, total: int) -> list[SampleSeries]:
    """Return the recorded series in the order of the record, then derived ones, then differences.

    A recorded series wins over the same series, computed; the difference between them is a series of its own.
    """
    recorded = {one.name: values_between(one, 0, total) for one in sample.series}
    by_framework = {one.name for one in sample.series if not one.is_derived}
    computed = tokens.computed_series(recorded, recorded.get(MASK))
    if ADVANTAGES not in recorded and sample.row.advantage is not None and recorded:
        computed[ADVANTAGES] = np.where(trained(recorded), sample.row.advantage, np.nan)
    found = [
        SampleSeries(name, "recorded" if name in by_framework else "derived", values)
        for name, values in recorded.items()
    ]
    found += [SampleSeries(name, "derived", values) for name, values in computed.items() if name not in recorded]
    for name in (name for name in computed if name in by_framework):
        with np.errstate(invalid="ignore", over="ignore"):
            found.append(SampleSeries(name + tokens.DIFFERENCE, "difference", recorded[name] - computed[name]))
    return found


def trained(series: Mapping[str, tokens.Floats]) -> tokens.Flags:
    """Return which tokens count, shape (T,): those under the loss mask, or without one those with a value."""
    if MASK in series:
        under: tokens.Flags = series[MASK] == 1
        return under
    logprobs = [series[name] for name in ("trainer_logprobs", "logprobs") if name in series][:1]
    has_value: tokens.Flags = np.logical_or.reduce([~np.isnan(values) for values in logprobs or series.values()])
    return has_value


def values_between(series: TokenSeries, start: int, stop: int) -> tokens.Floats:
    """Return the values of the tokens `start` to `stop`, NaN where the series has none."""
    values = np.full(stop - start, np.nan)
    first, last = max(series.offset, start), min(series.offset + len(series.values), stop)
    if first < last:
        values[first - start : last - start] = np.asarray(series.values)[first - series.offset : last - series.offset]
    return values
