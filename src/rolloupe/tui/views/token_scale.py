"""From the value of a token to the strength of its tint, as on the page."""

from typing import NamedTuple

import numpy as np

from rolloupe.tokens import Floats, Scale

CLIPPED = 1.0
"""So many percent of the values lie beyond either end."""


class TokenScale(NamedTuple):
    """A scale between two ends. With `is_two_sided` it has no tint in its middle, at 0 or at a ratio of 1."""

    kind: Scale
    low: float
    high: float
    is_two_sided: bool

    def strengths(self, values: Floats) -> Floats:
        """Return the strength of each tint, from 0 to 1, on a scale with two sides from -1; NaN without a value."""
        low, high = self.low, self.high
        if not low < high:
            return np.where(np.isnan(values), np.nan, 0.0)
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high, values = float(np.log(low)), float(np.log(high)), np.log(values)
        place = np.clip((values - low) / (high - low), 0, 1)
        if self.is_two_sided:
            return 2 * place - 1
        return 1 - place if self.high <= 0 else place


def is_ratio(name: str) -> bool:
    """Return whether a series is 1 where nothing has changed."""
    return (name == "ratio" or name.endswith("_ratio")) and not name.startswith("log")


def scale_of(values: Floats, kind: Scale, name: str) -> TokenScale:
    """Return the scale of a series: all values but the outermost hundredths."""
    finite = values[np.isfinite(values)]
    finite = finite[finite > 0] if kind == "log" else finite
    if not len(finite):
        return TokenScale(kind, 0.0, 0.0, is_two_sided=False)
    low, high = (float(one) for one in np.percentile(finite, [CLIPPED, 100 - CLIPPED]))
    if kind == "symmetric":
        end = max(abs(low), abs(high))
        return TokenScale(kind, -end, end, is_two_sided=True)
    if kind == "log" and is_ratio(name) and low > 0:
        end = float(np.exp(max(abs(np.log(low)), abs(np.log(high)))))
        return TokenScale(kind, 1 / end, end, is_two_sided=True)
    return TokenScale(kind, low, high, is_two_sided=False)
