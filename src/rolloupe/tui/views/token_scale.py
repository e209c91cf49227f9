"""From the value of a token to the strength of its tint, as on the page: what is usual has none."""

import re
from typing import NamedTuple

import numpy as np

from rolloupe.tokens import Floats, Scale

FIRST = ("kl_k3", "kl", "mismatch_kl", "importance_ratio", "entropy", "log_ratio", "advantages", "logprobs")
"""Series to begin with, as far as a sample has them."""
FLAGS = ("loss_mask", "attention_mask", "is_masked", "is_masked_high", "is_masked_low")
"""Flags that a trainer recorded: numbers, but no values to compare."""

CLIPPED = 0.01
"""The share of the values beyond either end."""
OUT = 0.25
"""The share of the values that stand out."""
REACH = 1000
"""What stands out on a log scale is at most so many times smaller than the end."""
SAME = 1e-6
"""Values that differ by less than float32 can tell are equal."""
SIDES = 0.9
"""Nearly all values at the same distance differ by their side alone, so they keep their tints."""

_RATIO, _LOW_WORST = re.compile(r"(?!log)(.*_)?ratio"), re.compile(r"(.*_)?(logprobs|probability)")

Ends = tuple[float, float]


class TokenScale(NamedTuple):
    """A scale between two ends. With `is_two_sided` it has no tint in its middle, at 0 or at a ratio of 1."""

    kind: Scale
    low: float
    high: float
    is_two_sided: bool = False
    quiet: float = 0.0
    """Around the middle, this share of either side has no tint."""
    is_down: bool = False
    """The tint grows towards the low end."""

    def strengths(self, values: Floats) -> Floats:
        """Return the strength of each tint, from 0 to 1, on a scale with two sides from -1; NaN without a value."""
        low, high = self.low, self.high
        if not low < high:
            return np.where(np.isnan(values) | np.isnan(low), np.nan, 0.0)
        if self.kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high, values = float(np.log(low)), float(np.log(high)), np.log(np.maximum(values, 0.0))
        place = np.clip((values / 2 - low / 2) / (high / 2 - low / 2), 0, 1)  # of halves: the whole may be infinite
        if not self.is_two_sided:
            return 1 - place if self.is_down else place
        strength = 2 * place - 1
        return np.sign(strength) * np.maximum(0.0, np.abs(strength) - self.quiet) / (1 - self.quiet)

    def ramp(self, count: int) -> Floats:
        """Return strengths from one end to the other."""
        if self.kind == "log" and self.low > 0:
            return self.strengths(np.geomspace(self.low, self.high, count))
        return self.strengths(np.linspace(self.low, self.high, count))


def scale_of(values: Floats, kind: Scale, name: str) -> TokenScale:
    """Return the scale of a series: from what is usual to the worst, without the outermost hundredth."""
    ordered = np.sort(values[np.isfinite(values)])
    some = ordered[ordered > 0] if kind == "log" else ordered
    if not len(some) or _is_constant(some):
        return TokenScale(kind, *((float(some[0]), float(some[-1])) if len(some) else (np.nan, np.nan)))
    is_around_one = kind == "log" and _RATIO.fullmatch(name) is not None
    if kind == "symmetric":
        return _two_sided(_between(some), some)
    if is_around_one:
        side = _two_sided(np.log(_between(some)), np.log(some))
        return side._replace(kind=kind, low=float(np.exp(side.low)), high=float(np.exp(side.high)))
    is_down = _LOW_WORST.fullmatch(name) is not None or ordered[-1] <= 0
    return TokenScale(kind, *_outstanding(ordered, some, kind, is_down), is_down=is_down)


def update_scale(coefficients: Floats) -> TokenScale:
    """Return the scale of an update: around zero, and every push has a tint."""
    ordered = np.sort(coefficients[np.isfinite(coefficients)])
    return _two_sided(_between(ordered) if len(ordered) else (np.nan, np.nan), ordered[:0])


def _is_constant(ordered: Floats) -> bool:
    low, high = float(ordered[0]), float(ordered[-1])
    return high - low <= SAME * max(abs(low), abs(high))


def _two_sided(ends: "Ends | Floats", values: Floats) -> TokenScale:
    """Return a scale around zero; the distance that three quarters of the values keep to has no tint."""
    end = float(np.abs(ends).max())
    quiet = float(np.quantile(np.abs(values), 1 - OUT)) if len(values) else 0.0
    return TokenScale("symmetric", -end, end, is_two_sided=True, quiet=quiet / end if quiet < SIDES * end else 0.0)


def _between(ordered: Floats) -> Ends:
    """Return the ends of values without the outermost hundredths; if these are the same, the ends of all."""
    low, high = (float(one) for one in np.quantile(ordered, (CLIPPED, 1 - CLIPPED)))
    return (low, high) if low < high else (float(ordered[0]), float(ordered[-1]))


def _outstanding(ordered: Floats, some: Floats, kind: Scale, is_down: bool) -> Ends:
    """Return the ends of the quarter that is worst, of `some` that the scale can show."""
    least, greatest = float(some[0]), float(some[-1])
    low, high = _between(some)
    if is_down:
        high = float(np.quantile(ordered, OUT))
    else:
        low = max(float(np.quantile(ordered, 1 - OUT)), least, high / REACH if kind == "log" else -np.inf)
    return (low, high) if low < high else (least, greatest)
