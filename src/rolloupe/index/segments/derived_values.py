"""The derived metrics of a segment: a column each, in the order of the segment's rows, and their sums by step.

Each metric has a version of its own. Where one is missing or old, its values alone are computed; those of the others
are copied from the file that is there.
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
from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.files import replacing, write_parquet
from rolloupe.index.segments.kind import Backfilled, SegmentKind
from rolloupe.index.segments.segment import SegmentMeta
from rolloupe.index.segments.step_stats import Moments, Sketch, moments_of
from rolloupe.model import SampleRow

VERSION = 1
ENDING = ".derived.parquet"
ABOUT = ".derived.about"

BATCH_CHARS, BATCH_ROWS = 4 * 2**20, 8192
"""So much text is looked at at a time."""


class DerivedSketch(Struct, array_like=True):
    """Moments by metric over the samples of a step that were trained on, as `Sketch` has those of sample metrics."""

    split: str
    step: int
    moments: dict[str, Moments]


class DerivedMeta(Struct, kw_only=True):
    """What the catalog needs to know of the derived metrics of a segment."""

    version: int
    fingerprint: Fingerprint
    """That of the segment: another file of the same name has others."""
    rows: int
    size_bytes: int
    versions: dict[str, int]
    """By metric."""
    sketches: list[DerivedSketch]

    @property
    def is_current(self) -> bool:
        """True where every metric is there, in its present version."""
        return all(self.versions.get(name) == metric.version for name, metric in METRICS.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics that are there, and that this version of Rolloupe knows."""
        return tuple(name for name in self.versions if name in METRICS)


def derived_of(path: Path) -> Path:
    """Where the derived metrics of a segment lie."""
    return path.with_name(path.stem + ENDING)


def about_of(path: Path) -> Path:
    """Where it stands which metrics these are, and their sums."""
    return path.with_name(path.stem + ABOUT)


def read_derived(path: Path, meta: SegmentMeta) -> DerivedMeta | None:
    """What is there of the derived metrics of a segment; None for those of another one, torn or missing."""
    try:
        about = msgspec.msgpack.decode(about_of(path).read_bytes(), type=DerivedMeta)
        size_bytes = derived_of(path).stat().st_size
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    is_of = (about.version, about.rows, about.size_bytes) == (VERSION, meta.rows, size_bytes)
    return about if is_of and about.fingerprint == meta.fingerprint else None


def with_derived(sketches: Sequence[Sketch], about: DerivedMeta) -> list[Sketch]:
    """The sketches of a segment, with the sums of its derived metrics."""
    moments = {(one.split, one.step): one.moments for one in about.sketches}
    return [
        msgspec.structs.replace(sketch, derived=moments.get((sketch.split, sketch.step), {})) for sketch in sketches
    ]


def _is_written(path: Path, meta: SegmentMeta) -> bool:
    about = read_derived(path, meta)
    return about is not None and about.is_current


def _write(path: Path, meta: SegmentMeta, rows: Sequence[SampleRow]) -> None:
    before = read_derived(path, meta)
    held = {} if before is None else before.versions
    stale = [metric for name, metric in METRICS.items() if held.get(name) != metric.version]
    kept = [name for name in held if name in METRICS and held[name] == METRICS[name].version]
    columns = _read(path, kept) if kept else {}
    if columns is None:  # damaged since
        kept, columns, stale = [], {}, list(METRICS.values())
    values = _computed(rows, stale, is_cut=(meta.start > 0, meta.complete))
    columns |= {derived_column(name): _array(METRICS[name], own) for name, own in values.items()}
    size_bytes = write_parquet(derived_of(path), pa.table(columns))
    about = DerivedMeta(
        version=VERSION,
        fingerprint=meta.fingerprint,
        rows=meta.rows,
        size_bytes=size_bytes,
        versions={name: METRICS[name].version for name in (*kept, *values)},
        sketches=_sketches(rows, values, before, kept),
    )
    with replacing(about_of(path)) as temporary:
        temporary.write_bytes(msgspec.msgpack.encode(about))


def _read(path: Path, names: Sequence[str]) -> dict[str, pa.ChunkedArray] | None:
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_of(path)) as file:
        table = file.read(columns=[derived_column(name) for name in names], use_threads=False)
        return dict(zip(table.column_names, table.columns, strict=True))
    return None


def _computed(
    rows: Sequence[SampleRow], metrics: Sequence[DerivedMetric], *, is_cut: tuple[bool, bool]
) -> dict[str, BatchValues]:
    of_rows = [metric for metric in metrics if metric.of_siblings is None]
    batches = [values_of_batch(SampleBatch(some), of_rows) for some in _batches(rows)] if of_rows else []
    values = {metric.name: _joined(metric, [one[metric.name] for one in batches]) for metric in of_rows}
    siblings = [metric for metric in metrics if metric.of_siblings is not None]
    return values | {metric.name: values_of_siblings(metric, rows, is_cut=is_cut) for metric in siblings}


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


def _sketches(
    rows: Sequence[SampleRow], values: dict[str, BatchValues], before: DerivedMeta | None, kept: Sequence[str]
) -> list[DerivedSketch]:
    known = {(one.split, one.step): one.moments for one in (before.sketches if before else ())}
    numbers = {name: np.asarray(own) for name, own in values.items() if METRICS[name].kind == "number"}
    sketches = []
    for (split, step), places in _trained(rows).items():
        moments = {name: one for name, one in known.get((split, step), {}).items() if name in kept}
        moments |= {name: moments_of(own[places]) for name, own in numbers.items()}
        sketches.append(DerivedSketch(split, step, {name: one for name, one in moments.items() if one.count}))
    return sketches


def _trained(rows: Sequence[SampleRow]) -> dict[tuple[str, int], list[int]]:
    """The numbers of the rows of each step that count: of the newest launch, and trained on."""
    by_step: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_step[row.split, row.step].append(number)
    newest = {key: max(rows[number].launch for number in places) for key, places in by_step.items()}
    return {
        key: [n for n in places if rows[n].launch in (0, newest[key]) and not rows[n].discarded]
        for key, places in by_step.items()
    }


DERIVED = SegmentKind("derived", VERSION, "backfill", 1, ENDING, backfilled=Backfilled(_is_written, _write))
