"""What the index keeps of a token series of one step in one segment."""

import math

import numpy as np

from rolloupe.index.segments.step_stats import UNIT, Moments, moments_of
from rolloupe.index.token_stats.histogram import Histogram, histogram_of, histogram_of_one, merged
from rolloupe.index.token_stats.kept_tokens import KeptTokens
from rolloupe.tokens import Origin, TokenBatch

MANY = 16
"""How many histograms to hold before adding them up."""


class SeriesTotals:
    """Sums over the finite values of a series."""

    def __init__(self, origin: Origin, *, has_moments: bool = False) -> None:
        self.origin = origin
        self.moments = Moments() if has_moments else None
        """In place of those of the scan, which knew no annotation; None where that one counted the same samples."""
        self.tokens = self.infinite = self.samples = 0
        self.total = 0.0
        """The sum of the values, in units of `UNIT`."""
        self.mean_total = 0.0
        """The sum of the means of the samples, in units of `UNIT`."""
        self.low, self.high = math.inf, -math.inf
        self.kept = [
            KeptTokens(highest=highest, one_a_sample=one_a_sample)
            for one_a_sample in (False, True)
            for highest in (False, True)
        ]
        """The lowest and the highest tokens, of all and of one of each sample."""
        self._histograms: list[Histogram] = []

    def add(self, batch: TokenBatch, name: str) -> None:
        """Add the tokens of a batch."""
        values, reduced = batch.series[name].values, batch.reduced(name)
        count = int(reduced.counts.sum())
        finite = values
        if count < len(values):
            finite = values[np.isfinite(values)]
            self.infinite += int(np.isinf(values).sum())
        for kept in self.kept if len(batch) else ():
            kept.add(batch, values, reduced)
        if not count:
            return
        has_value = reduced.counts > 0
        self.tokens += count
        self.samples += int(np.count_nonzero(has_value))
        with np.errstate(all="ignore"):
            if math.isfinite(total := float(reduced.sums.sum())):
                self.total += total / UNIT
                self.mean_total += float(reduced.means[has_value].sum()) / UNIT
            else:  # the sum of numbers near the largest
                scaled = np.add.reduceat(np.where(np.isfinite(values), values, 0.0) / UNIT, batch.starts)
                self.total += float(scaled.sum())
                self.mean_total += float((scaled / reduced.counts)[has_value].sum())
        ends = (reduced.minima, reduced.maxima) if count == len(values) else (finite, finite)
        low, high = float(ends[0].min()), float(ends[1].max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.moments is not None:
            self.moments = self.moments.merge(moments_of(finite))
        self._histograms.append(histogram_of(finite) if low < high else histogram_of_one(low, count))
        if len(self._histograms) >= MANY:
            self._histograms = [merged(self._histograms)]

    @property
    def spread(self) -> float | None:
        """As in `Moments`; None without these."""
        return None if self.moments is None else self.moments.spread

    def histogram(self) -> Histogram:
        """The histogram of the values."""
        return merged(self._histograms)
