"""The derived metrics of a segment: one column for each, in the order of the segment's rows, and their sums by step.

Each metric has its own version. If one is missing or old, only its values are computed; the existing file supplies the
others.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from rolloupe.derive import METRICS, BatchValues, DerivedMetric, SampleBatch, values_of_batch, values_of_siblings
from rolloupe.errors import words_of
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.kind import Backfilled, SegmentKind
from rolloupe.index.segments.segment import LZ4, SegmentMeta, write_parquet
from rolloupe.index.segments.step_stats import Moments, StepStats, moments_of
from rolloupe.model import SampleRow
from rolloupe.storage import atomic

VERSION = 1
ENDING = ".derived.parquet"
ABOUT = ".derived.about"

BATCH_CHARS, BATCH_ROWS = 2**19, 8192
"""The maximum amount of text in a batch: as much as the caches of a processor hold."""


class DerivedStats(Struct, array_like=True):
    """Moments by metric over the trained samples of a step, as `StepStats` has them for sample metrics."""

    split: str
    step: int
    moments: dict[str, Moments]


class DerivedMeta(Struct, kw_only=True):
    """The facts about the derived metrics of a segment that the catalog needs."""

    version: int
    fingerprint: Fingerprint
    """The segment's: another file with the same name has other values."""
    rows: int
    size_bytes: int
    versions: dict[str, int]
    """By metric."""
    step_stats: list[DerivedStats] = msgspec.field(name="sketches")
    """Stored as `sketches`."""
    failures: dict[str, str] = {}
    """Why a metric is missing, by metric: it raised."""

    @property
    def is_current(self) -> bool:
        """True if every metric is present in its current version."""
        return all(self.versions.get(name) == metric.version for name, metric in METRICS.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that are present, and known to this version of Rolloupe."""
        return tuple(name for name in self.versions if name in METRICS)


def derived_of(path: Path) -> Path:
    """The path of a segment's derived metrics."""
    return path.with_name(path.stem + ENDING)


def about_of(path: Path) -> Path:
    """The path of the `DerivedMeta` of a segment."""
    return path.with_name(path.stem + ABOUT)


def read_derived(path: Path, meta: SegmentMeta) -> DerivedMeta | None:
    """Read which derived metrics a segment has; None if the files are missing, torn, or of another segment."""
    try:
        about = msgspec.msgpack.decode(about_of(path).read_bytes(), type=DerivedMeta)
        size_bytes = derived_of(path).stat().st_size
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    is_of = (about.version, about.rows, about.size_bytes) == (VERSION, meta.rows, size_bytes)
    return about if is_of and about.fingerprint == meta.fingerprint else None


def with_derived(step_stats: Sequence[StepStats], about: DerivedMeta) -> list[StepStats]:
    """The step statistics of a segment, with the sums of its derived metrics."""
    moments = {(one.split, one.step): one.moments for one in about.step_stats}
    return [msgspec.structs.replace(stats, derived=moments.get((stats.split, stats.step), {})) for stats in step_stats]


def _is_written(path: Path, meta: SegmentMeta) -> bool:
    about = read_derived(path, meta)
    return about is not None and about.is_current


def _write(path: Path, meta: SegmentMeta, rows: Sequence[SampleRow]) -> DerivedMeta:
    before = read_derived(path, meta)
    versions = {} if before is None else before.versions
    stale = [metric for name, metric in METRICS.items() if versions.get(name) != metric.version]
    current = [name for name in versions if name in METRICS and versions[name] == METRICS[name].version]
    columns = _read(path, current) if current else {}
    if columns is None:  # damaged since
        current, columns, stale = [], {}, list(METRICS.values())
    values, failures = _computed(rows, stale, is_cut=(meta.start > 0, meta.complete))
    columns |= {derived_column(name): _array(METRICS[name], column) for name, column in values.items()}
    size_bytes = write_parquet(derived_of(path), pa.table(columns), codec=LZ4)
    about = DerivedMeta(
        version=VERSION,
        fingerprint=meta.fingerprint,
        rows=meta.rows,
        size_bytes=size_bytes,
        versions={name: METRICS[name].version for name in (*current, *values)},
        step_stats=_step_stats(rows, values, before, current),
        failures=failures,
    )
    atomic.write(about_of(path), msgspec.msgpack.encode(about))
    return about


def _read(path: Path, names: Sequence[str]) -> dict[str, pa.ChunkedArray] | None:
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_of(path)) as file:
        table = file.read(columns=[derived_column(name) for name in names], use_threads=False)
        return dict(zip(table.column_names, table.columns, strict=True))
    return None


def _computed(
    rows: Sequence[SampleRow], metrics: Sequence[DerivedMetric], *, is_cut: tuple[bool, bool]
) -> tuple[dict[str, BatchValues], dict[str, str]]:
    """The values of the metrics, and by name why a metric has none: it raised."""
    failures: dict[str, str] = {}
    of_rows = [metric for metric in metrics if metric.of_siblings is None]
    batches = [values_of_batch(SampleBatch(some), of_rows, failures) for some in _batches(rows)] if of_rows else []
    whole = [metric for metric in of_rows if metric.name not in failures]
    values = {metric.name: _joined(metric, [one[metric.name] for one in batches]) for metric in whole}
    for metric in metrics:
        if metric.of_siblings is not None:
            try:
                values[metric.name] = values_of_siblings(metric, rows, is_cut=is_cut)
            except Exception as error:  # must not cost the other metrics
                failures[metric.name] = words_of(error)
    return values, failures


def _batches(rows: Sequence[SampleRow]) -> Iterator[Sequence[SampleRow]]:
    first = chars = 0
    for number, row in enumerate(rows):
        chars += len(row.response)
        if chars >= BATCH_CHARS or number + 1 - first >= BATCH_ROWS:
            yield rows[first : number + 1]
            first, chars = number + 1, 0
    if first < len(rows):
        yield rows[first:]


def _joined(metric: DerivedMetric, values: Sequence[BatchValues]) -> BatchValues:
    return (
        list(chain.from_iterable(values))
        if metric.kind == "tag"
        else np.concatenate([np.asarray(one) for one in values])
    )


def _array(metric: DerivedMetric, values: BatchValues) -> pa.Array:
    return pa.array(values, pa.string() if metric.kind == "tag" else pa.float64(), from_pandas=True)  # NaN is null


def _step_stats(
    rows: Sequence[SampleRow], values: dict[str, BatchValues], before: DerivedMeta | None, current: Sequence[str]
) -> list[DerivedStats]:
    known = {(one.split, one.step): one.moments for one in (before.step_stats if before else ())}
    numbers = {name: np.asarray(column) for name, column in values.items() if METRICS[name].kind == "number"}
    step_stats = []
    for (split, step), places in _trained(rows).items():
        moments = {name: one for name, one in known.get((split, step), {}).items() if name in current}
        trained = slice(None) if len(places) == len(rows) else np.array(places, np.intp)
        moments |= {name: moments_of(column[trained]) for name, column in numbers.items()}
        step_stats.append(DerivedStats(split, step, {name: one for name, one in moments.items() if one.count}))
    return step_stats


def _trained(rows: Sequence[SampleRow]) -> dict[tuple[str, int], list[int]]:
    """By step, the numbers of the rows that count: those of the newest launch that were trained on."""
    by_step: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_step[row.split, row.step].append(number)
    newest = {key: max(rows[number].launch for number in places) for key, places in by_step.items()}
    return {
        key: [n for n in places if rows[n].launch in (0, newest[key]) and not rows[n].discarded]
        for key, places in by_step.items()
    }


DERIVED = SegmentKind("derived", VERSION, ENDING, backfilled=Backfilled(_is_written, _write))
