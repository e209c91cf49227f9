"""All token series of a sample: those that its record holds, those that follow from them, and where the two differ."""

from collections.abc import Collection, Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rolloupe.tokens.arrays import Floats, counts
from rolloupe.tokens.loss_inputs import Flags
from rolloupe.tokens.series import DIFFERENCE, POLICY, Starts, computed_series

Origin: TypeAlias = Literal["recorded", "derived", "difference"]

MASK, ADVANTAGES, GROUP_ADVANTAGES = "loss_mask", "advantages", "group_advantages"


class SampleSeries(NamedTuple):
    """A token series over all tokens of a sample: `values` has the shape (T,), NaN for a token without a value."""

    name: str
    origin: Origin
    values: Floats


def completed(
    recorded: Mapping[str, Floats],
    by_framework: Collection[str],
    advantage: float | Floats | None = None,
    starts: Starts | None = None,
    group_advantage: float | None = None,
) -> list[SampleSeries]:
    """Return the recorded series in the order of the record, then derived ones, then differences.

    A recorded series wins over the same series, computed; if it is one of those `by_framework`, the difference between
    them is a series of its own. `advantage` is that of the sample, for every trained token. If the arrays hold several
    samples, one behind the other, `starts` are their first tokens, and `advantage` has a value for each token. Where
    there is no advantage, `group_advantage` is that of the sample within its group.
    """
    computed = computed_series(recorded, recorded.get(MASK), starts)
    if ADVANTAGES not in recorded and advantage is not None and recorded:
        computed[ADVANTAGES] = np.where(trained(recorded), advantage, np.nan)
    elif ADVANTAGES not in recorded and group_advantage is not None and recorded:
        computed[GROUP_ADVANTAGES] = np.where(trained(recorded), group_advantage, np.nan)
    found = [
        SampleSeries(name, "recorded" if name in by_framework else "derived", values)
        for name, values in recorded.items()
    ]
    found += [SampleSeries(name, "derived", values) for name, values in computed.items() if name not in recorded]
    for name in (name for name in computed if name in by_framework):
        with np.errstate(invalid="ignore", over="ignore"):
            found.append(SampleSeries(name + DIFFERENCE, "difference", recorded[name] - computed[name]))
    return found


def trained(series: Mapping[str, Floats]) -> Flags:
    """Return which tokens count, shape (T,): those under the loss mask, or without one those with a value."""
    if MASK in series:
        return counts(series[MASK])
    logprobs = [series[name] for name in POLICY if name in series][:1]
    has_value: Flags = np.logical_or.reduce([~np.isnan(values) for values in logprobs or series.values()])
    return has_value
