"""What a segment remembers of each step, so that a curve over the run reads no rows.

A `Moments` holds count, sum, centred sum of squares (m2), minimum and maximum of the finite values of one column; two
of them merge exactly as if their values had been seen together (Chan, Golub and LeVeque 1983).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from rolloupe.index.segments.columns import NUMERIC, names_of
from rolloupe.index.segments.extreme_tokens import Extremes, extremes_of
from rolloupe.index.segments.index_row import IndexRow
from rolloupe.model import SeriesFacts

MAX_SERIES = 64
"""Token series that a segment keeps something of; more show in the sample alone."""

STAMPS = 2**48
"""Small enough to be exact in a browser."""


class Moments(Struct, array_like=True):
    """Moments of the finite values of one column."""

    count: int = 0
    sum: float = 0.0
    m2: float = 0.0
    min: float = math.inf
    max: float = -math.inf

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of values together."""
        if not self.count or not other.count:
            return other if other.count else self
        count = self.count + other.count
        delta = other.sum / other.count - self.sum / self.count
        m2 = self.m2 + other.m2 + delta * delta * self.count * other.count / count
        return Moments(count, self.sum + other.sum, m2, min(self.min, other.min), max(self.max, other.max))


def added_stamps(stamps: Iterable[int]) -> int:
    """The stamp of several steps, or parts of one, together."""
    return sum(stamps) % STAMPS


class SeriesSketch(Struct, array_like=True):
    """A token series of one step: moments over its tokens, and its most extreme ones.

    The extremes are of one piece of the index: sums over pieces leave them out.
    """

    moments: Moments
    lowest: Extremes = Extremes()
    highest: Extremes = Extremes()

    def merge(self, other: "SeriesSketch") -> "SeriesSketch":
        """The moments of both together."""
        return SeriesSketch(self.moments.merge(other.moments))


class Sketch(Struct, array_like=True):
    """One step of one split within a segment: rows, distinct groups, and moments by column or sample metric.

    Rows are those of the greatest launch, and what has none. Moments are over the samples that were trained on, as far
    as their own file says so: a mean reward over what was thrown away as well would be that of no trainer.
    """

    split: str
    step: int
    rows: int
    groups: int
    columns: dict[str, Moments]
    metrics: dict[str, Moments]
    stamp: int = 0
    """Changes where the samples of the step do: a sum over them, so that the stamps of parts add."""
    series: dict[str, SeriesSketch] = {}
    """By token series."""
    launch: int = 0
    """The greatest of the launches of its samples, 0 where none is told."""
    discarded: dict[str, int] = {}
    """By reason, how many of the rows were not trained on."""
    superseded: int = 0
    """Samples of older launches that are not among the rows: the step was recorded again."""

    @property
    def trained(self) -> int:
        """How many of the rows were trained on."""
        return self.rows - sum(self.discarded.values())


def moments_of(values: Iterable[float | int | None]) -> Moments:
    """Moments of the finite values among `values`."""
    array = np.array([float("nan") if v is None else v for v in values], dtype=np.float64)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return Moments()
    with np.errstate(all="ignore"):  # 1e308 + 1e308 is inf, and that is the honest sum
        total = float(finite.sum())
        m2 = float(((finite - finite.mean()) ** 2).sum())
    return Moments(len(finite), total, m2, float(finite.min()), float(finite.max()))


def sketches_of(entries: Sequence[IndexRow]) -> list[Sketch]:
    """One sketch for each (split, step) among the entries."""
    series = list(dict.fromkeys(name for entry in entries for name in entry.row.series))[:MAX_SERIES]
    by_step: dict[tuple[str, int], list[IndexRow]] = defaultdict(list)
    for entry in entries:
        by_step[entry.row.split, entry.row.step].append(entry)
    return [_sketch(split, step, members, series) for (split, step), members in by_step.items()]


def _sketch(split: str, step: int, found: list[IndexRow], series: list[str]) -> Sketch:
    launch = max(entry.row.launch for entry in found)
    entries = [entry for entry in found if entry.row.launch in (0, launch)]
    discarded = dict(Counter(entry.row.discarded for entry in entries if entry.row.discarded))
    own = [entry for entry in entries if not entry.row.discarded] if discarded else entries
    columns = {name: moments_of(_values(own, name)) for name in NUMERIC}
    names = names_of([entry.row for entry in own])[0]
    metrics = {name: moments_of([entry.row.metrics.get(name) for entry in own]) for name in names}
    groups = len({entry.row.group for entry in entries})
    keep = {name: moments for name, moments in columns.items() if moments.count}
    stamp = sum(entry.stamp for entry in entries) % STAMPS
    of_series = {name: sketch for name in series if (sketch := _series(entries, name)).moments.count}
    left = len(found) - len(entries)
    return Sketch(split, step, len(entries), groups, keep, metrics, stamp, of_series, launch, discarded, left)


def _series(entries: list[IndexRow], name: str) -> SeriesSketch:
    moments = merged_moments([facts for entry in entries if (facts := entry.row.series.get(name)) is not None])
    lowest, highest = (extremes_of(entries, name, highest=way) for way in (False, True))
    return SeriesSketch(moments, lowest, highest)


def merged_moments(some: Sequence[SeriesFacts]) -> Moments:
    """The moments of all values together."""
    if not some:
        return Moments()
    counts, sums = (np.array(column, dtype=np.float64) for column in ([f.count for f in some], [f.sum for f in some]))
    with np.errstate(all="ignore"):
        means = sums / counts
        apart = counts * (means - sums.sum() / counts.sum()) ** 2
        m2 = sum(f.m2 for f in some) + float(apart.sum())
    lowest, highest = min(f.min for f in some), max(f.max for f in some)
    return Moments(sum(f.count for f in some), float(sums.sum()), m2, lowest, highest)


def _values(entries: list[IndexRow], name: str) -> list[float | int | None]:
    if name == "response_chars":
        return [entry.response_chars for entry in entries]
    return [getattr(entry.row, name) for entry in entries]
