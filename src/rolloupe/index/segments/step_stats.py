"""The statistics of each step in a segment, so that a curve over the run reads no rows.

The mean, deviation and extremes of a column's finite values follow from its `Moments`; two of them merge as if their
values had been seen together (Chan, Golub and LeVeque 1983). Sums are in units of `UNIT`, a power of two: this changes
no digit, and the sum of a billion numbers near the largest stays finite.

A run may have a hundred thousand steps with dozens of columns each: their moments lie packed in memory and in files.
"""

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.index.segments.samples import DEFAULTS
from rolloupe.model import CHARTED, SampleColumns, SeriesFacts

MAX_SERIES = 64
"""The maximum number of token series with statistics; only the sample itself shows the others."""

UNIT = 2.0**64

STAMPS = 2**48
"""Small enough to be exact in a browser."""


class Moments(Struct, array_like=True, gc=False):
    """Moments of the finite values of one column."""

    count: int = 0
    total: float = 0.0
    """Their sum, in units of `UNIT`: values below 1e-290 vanish."""
    spread: float = 0.0
    """The root of the sum of the squared distances from their mean, in units of `UNIT`."""
    min: float = math.inf
    max: float = -math.inf

    @property
    def mean(self) -> float:
        """The mean; there must be a value."""
        return self.total / self.count * UNIT

    @property
    def std(self) -> float:
        """The standard deviation of the population; there must be a value."""
        return self.spread / math.sqrt(self.count) * UNIT

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of values together."""
        if not self.count or not other.count:
            return other if other.count else self
        count = self.count + other.count
        apart = (other.total / other.count - self.total / self.count) * math.sqrt(self.count / count * other.count)
        spread = math.hypot(self.spread, other.spread, apart)
        return Moments(count, self.total + other.total, spread, min(self.min, other.min), max(self.max, other.max))


NUMBERS = 5
"""The number of fields of `Moments`."""


@lru_cache(maxsize=4096)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    """The place of each name; steps with the same names share it."""
    return {name: place for place, name in enumerate(names)}


class MomentsByName(Mapping[str, Moments]):
    """Moments by name, packed: five numbers each, or one if each is of one value, as at a step of one sample."""

    __slots__ = ("_packed", "_places")

    def __init__(self, names: tuple[str, ...] = (), packed: bytes = b"") -> None:
        self._places = _places(names)
        self._packed = packed
        if len(packed) not in (8 * len(names), 8 * NUMBERS * len(names)) or len(self._places) != len(names):
            raise ValueError("moments without a name, or names without moments")

    @property
    def is_single(self) -> bool:
        """True if each name has the moments of one value."""
        return len(self._packed) == 8 * len(self._places)

    def __getitem__(self, name: str) -> Moments:
        place = self._places[name]
        if self.is_single:
            return _of_one(*struct.unpack_from("<d", self._packed, 8 * place))
        count, total, spread, least, most = struct.unpack_from("<5d", self._packed, 8 * NUMBERS * place)
        return Moments(int(count), total, spread, least, most)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[Any, ...]:
        return MomentsByName, (tuple(self._places), self._packed)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(self._places)

    @property
    def extremes(self) -> NDArray[np.float64]:
        """The lowest and the highest value of each name, in order: shape (2, names)."""
        numbers = np.frombuffer(self._packed, "<f8")
        return np.broadcast_to(numbers, (2, len(self))) if self.is_single else numbers.reshape(-1, NUMBERS)[:, 3:].T


NO_MOMENTS = MomentsByName()


def by_name(moments: Mapping[str, Moments]) -> MomentsByName:
    """Pack moments, without those of no value."""
    kept = {name: own for name, own in moments.items() if own.count}
    numbers = [(own.count, own.total, own.spread, own.min, own.max) for own in kept.values()]
    if all(own == _of_one(own.min) for own in kept.values()):
        return MomentsByName(tuple(kept), struct.pack(f"<{len(kept)}d", *(own.min for own in kept.values())))
    return MomentsByName(tuple(kept), np.array(numbers, "<f8").tobytes())


def of_one_sample(values: Iterable[tuple[str, float | int | None]]) -> MomentsByName:
    """The moments of the finite values of one sample."""
    kept = {name: float(value) for name, value in values if value is not None and math.isfinite(value)}
    return MomentsByName(tuple(kept), struct.pack(f"<{len(kept)}d", *kept.values()))


def _of_one(value: float) -> Moments:
    return Moments(1, value / UNIT, 0.0, value, value)


def encoded(record: object) -> bytes:
    """Encode a record that holds moments: steps with the same names name them once."""
    numbers: dict[tuple[str, ...], int] = {}

    def encode(value: object) -> object:
        if not isinstance(value, MomentsByName):
            raise NotImplementedError(type(value).__name__)
        names, packed = value.names, value._packed  # noqa: SLF001 (its own)
        if names in numbers:
            return numbers[names], packed
        numbers[names] = len(numbers)
        return len(numbers) - 1, packed, names

    return msgspec.msgpack.encode(record, enc_hook=encode)


def decoded(data: bytes, type: Any) -> Any:
    """Decode a record that holds moments. Raises `msgspec.MsgspecError` and `ValueError`."""
    known: list[tuple[str, ...]] = []

    def decode(wanted: Any, value: Any) -> MomentsByName:
        if wanted is not MomentsByName:
            raise NotImplementedError(wanted)
        number, packed, *new = value
        known.extend(tuple(map(str, names)) for names in new)
        return MomentsByName(known[number], bytes(packed))

    try:
        return msgspec.msgpack.decode(data, type=type, dec_hook=decode)
    except (IndexError, TypeError) as error:
        raise ValueError(f"{error}") from None


def added_stamps(stamps: Iterable[int]) -> int:
    """The common stamp of several steps, or of several parts of one."""
    return sum(stamps) % STAMPS


class StepStats(Struct, array_like=True, gc=False):
    """The statistics of one step of one split: rows, distinct groups, and moments by column or sample metric.

    The rows are those of the greatest launch, and those without a launch. Moments leave out the samples that their own
    file marks as discarded: no trainer reports a mean reward that includes these.
    """

    split: str
    step: int
    rows: int
    groups: int
    columns: MomentsByName
    metrics: MomentsByName
    stamp: int = 0
    """Changes with the samples of the step: a sum over them, so that the stamps of parts add up."""
    series: MomentsByName = NO_MOMENTS
    """By token series, over its tokens."""
    launch: int = 0
    """The greatest launch of its samples; 0 if the samples do not name one."""
    discarded: dict[str, int] = {}
    """By reason, the number of rows that were not trained on."""
    superseded: int = 0
    """The number of samples of older launches, which are not among the rows: the step was recorded again."""
    derived: MomentsByName = NO_MOMENTS
    """By derived metric, over the parts that have its values; a separate file stores them."""

    @property
    def trained(self) -> int:
        """The number of rows that were trained on."""
        return self.rows - sum(self.discarded.values())


def moments_of(values: Iterable[float | int | None]) -> Moments:
    """Moments of the finite values among `values`."""
    numbers = values if isinstance(values, np.ndarray) else [value for value in values if value is not None]
    array = np.asarray(numbers, dtype=np.float64)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return Moments()
    least, most = float(finite.min()), float(finite.max())
    if least == most == 0:  # a common case
        return Moments(len(finite), 0.0, 0.0, 0.0, 0.0)
    scaled = finite / UNIT
    total, distances = float(scaled.sum()), np.abs(scaled - scaled.mean())
    largest = float(distances.max())
    spread = largest * math.sqrt(float(((distances / largest) ** 2).sum())) if largest else 0.0
    return Moments(len(finite), total, spread, least, most)


def moments_from(count: int, mean: float, std: float, least: float, most: float) -> Moments:
    """The moments that correspond to these statistics."""
    return Moments(count, mean / UNIT * count, std / UNIT * math.sqrt(count), least, most)


def step_stats_of(samples: SampleColumns) -> list[StepStats]:
    """The statistics of each (split, step) among some samples."""
    if not samples.count:
        return []
    by_step: dict[tuple[str, int], list[int]] = defaultdict(list)
    for place, step in enumerate(zip(samples.fields["split"], samples.fields["step"], strict=True)):
        by_step[step].append(place)
    of_all = _Numbers(samples)
    return [of_all.stats_of(*step, places) for step, places in by_step.items()]


class _Numbers:
    """The numbers of some samples as arrays."""

    def __init__(self, samples: SampleColumns) -> None:
        self.fields, count = samples.fields, samples.count
        given = {name: self.fields.get(name, DEFAULTS.get(name)) for name in CHARTED}
        self.columns = {
            name: np.full(count, own, np.float64) if isinstance(own, int) else np.array(own, np.float64)
            for name, own in given.items()
            if own is not None
        }
        self.metrics = {name: np.frombuffer(values.buffers()[1]) for name, values in samples.metrics.items()}
        self.launches = self.fields.get("launch", [0] * count)
        self.discarded = self.fields.get("discarded", [""] * count)
        self.series: Sequence[dict[str, SeriesFacts]] = self.fields.get("series", ())
        self.series_names = [*dict.fromkeys(chain.from_iterable(self.series))][:MAX_SERIES]

    def stats_of(self, split: str, step: int, members: list[int]) -> StepStats:
        """The statistics of the samples of a step."""
        launch = max(self.launches[place] for place in members)
        places = [place for place in members if self.launches[place] in (0, launch)] if launch else members
        discarded = dict(Counter(reason for place in places if (reason := self.discarded[place])))
        trained = [place for place in places if not self.discarded[place]] if discarded else places
        if len(trained) == 1:
            (place,) = trained
            columns, metrics = (
                of_one_sample((name, array[place]) for name, array in arrays.items())
                for arrays in (self.columns, self.metrics)
            )
        else:
            rows: Any = slice(None) if len(trained) == len(self.launches) else trained
            columns, metrics = (
                by_name({name: moments_of(array[rows]) for name, array in arrays.items()})
                for arrays in (self.columns, self.metrics)
            )
        groups = len({self.fields["group"][place] for place in places})
        stamp = added_stamps(self.fields["stamp"][place] for place in places)
        of_series = by_name(
            {
                name: merged_moments([self.series[place][name] for place in trained if name in self.series[place]])
                for name in self.series_names
            }
        )
        left = len(members) - len(places)
        return StepStats(split, step, len(places), groups, columns, metrics, stamp, of_series, launch, discarded, left)


def merged_moments(some: Sequence[SeriesFacts]) -> Moments:
    """The moments of all values, merged."""
    if not some:
        return Moments()
    parts = [Moments(f.count, f.sum / UNIT, math.sqrt(max(0.0, f.m2)) / UNIT, f.min, f.max) for f in some]
    counts = np.array([part.count for part in parts], np.float64)
    totals = np.array([part.total for part in parts])
    with np.errstate(all="ignore"):  # the sums of a sample may be infinite already
        count, total = counts.sum(), float(totals.sum())
        apart = (totals / counts - total / count) * np.sqrt(counts)
    spread = math.hypot(*(part.spread for part in parts), *apart.tolist())
    return Moments(int(count), total, spread, min(f.min for f in some), max(f.max for f in some))
