"""What a curve by step did, out of its noise: means over windows of steps, and the errors of their differences."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from rolloupe.insight.curves import halfway, noise_of_trend, scale_of, step_noise
from rolloupe.tokens import Floats

CHANGE, TREND = 4.2, 3.5
"""The least change, in standard errors of the difference between two windows of steps, or of the slope over all."""
PERHAPS = 2.5
"""The least difference of the ends that is worth a doubtful word."""
BEST = 4.8
"""The same for the best of many windows, which is high by chance too."""
FALL = 0.15
"""The least fall from the best window, as a share of it or of the deviation of the samples."""
WINDOWS = 10
"""A window has a tenth of the steps."""


class Windows(NamedTuple):
    """Means over windows of as many steps each, weighted by samples, and the noise of their differences."""

    steps: list[int]
    width: int
    trend: float
    """The slope of the straight line through the steps, in standard errors."""
    means: Floats
    """One for each step at which a window begins."""
    error: float
    """The standard error of the difference of two windows."""
    spread: float
    """The median of the standard deviations of the steps."""
    noise: float
    """The standard error of the mean of a step."""

    @property
    def ends(self) -> tuple[float, float]:
        """The means of the first and the last window."""
        return float(self.means[0]), float(self.means[-1])

    @property
    def half_width(self) -> float:
        """Of the 95% interval of a mean."""
        return 1.96 * self.error / sqrt(2)

    @property
    def change(self) -> int:
        """1 if the curve rose, -1 if it fell, 0 without a clear change: between its ends, or along a straight line."""
        early, late = self.ends
        clear = abs(late - early) > CHANGE * self.error or abs(self.trend) > TREND
        return int(np.sign(late - early)) if clear and self.trend * (late - early) > 0 else 0

    @property
    def has_fallen(self) -> bool:
        """True if the last window is clearly below the best, and far below it."""
        fall = self.best - self.ends[1]
        return fall > BEST * self.error and fall > FALL * max(abs(self.best), self.spread)

    @property
    def may_have_fallen(self) -> bool:
        """True if the last window is below the first by more than is usual by chance."""
        return self.ends[0] - self.ends[1] > PERHAPS * self.error

    @property
    def is_noisy(self) -> bool:
        """False if the curve, and the samples of its steps, have one value."""
        return self.spread > 0 or bool(np.ptp(self.means))

    @property
    def may_have_changed(self) -> bool:
        """True if the ends differ by more than is usual by chance, though not clearly."""
        return abs(self.ends[1] - self.ends[0]) > PERHAPS * self.error and not self.change

    @property
    def best(self) -> float:
        """The highest mean."""
        return float(self.means.max())

    @property
    def best_place(self) -> int:
        """Where in the steps the best window begins."""
        return int(self.means.argmax())

    @property
    def best_step(self) -> int:
        """The last step of the best window."""
        return self.steps[self.best_place + self.width - 1]

    def halfway(self, before: float, after: float) -> int:
        """The step since which the means are nearer to `after` than to `before`: the middle of that window."""
        return halfway(self.steps, self.means, before, after)

    @property
    def over(self) -> str:
        """Says what the means are of; empty for single steps."""
        return f" (means of {self.width} steps)" if self.width > 1 else ""


def windows_of(steps: Sequence[int], values: Floats, weights: Floats, deviations: Floats) -> Windows:
    """Return the windows of a curve: a value, a number of samples and a standard deviation for each step.

    The noise of a step is that of a mean of its samples, or that between neighbouring steps, whichever is more.
    """
    scale = scale_of(values, deviations)
    values, deviations = values / scale, deviations / scale
    width = max(1, len(steps) // WINDOWS)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values * weights, weights))
    means = (sums[width:] - sums[:-width]) / (counts[width:] - counts[:-width])
    of_samples = float(np.median(deviations / np.sqrt(weights)))
    of_steps = min(step_noise(values), noise_of_trend(values)) if len(values) > 5 else 0.0
    noise = max(of_samples, of_steps, 1e-9 * float(np.abs(values).max(initial=0.0)), 1e-300)
    places = np.arange(len(values)) - (len(values) - 1) / 2
    trend = float(places @ values) / noise / max(1.0, float(places @ places)) ** 0.5
    error, spread = noise * float(np.sqrt(2 / width)), float(np.median(deviations))
    return Windows([*map(int, steps)], width, trend, means * scale, error * scale, spread * scale, noise * scale)
