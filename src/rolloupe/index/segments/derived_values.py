"""The derived metrics of a segment: one column for each, in the order of the segment's rows, and their sums by step.

Each metric has its own version. If one is missing or old, only its values are computed; the existing file supplies the
others.
"""

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from rolloupe.derive import METRICS, SampleBatch, text_metrics, values_of_batch
from rolloupe.formats import by_name
from rolloupe.index.segments import kind, segment
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.step_stats import NO_MOMENTS, StepStats, decoded, encoded, moments_of, of_one_sample
from rolloupe.index.segments.step_stats import by_name as moments_by_name
from rolloupe.model import SampleRow
from rolloupe.storage import atomic
from rolloupe.tokens import Floats

VERSION = 1
ENDING = ".derived.parquet"
ABOUT = ".derived.about"

BATCH_CHARS, BATCH_ROWS = 2**20, 8192
"""The maximum amount of text in a batch: what is done once for a batch is cheap, and its arrays fit in caches."""


def may_have_tokens(meta: kind.SegmentMeta) -> bool:
    """True if samples of a segment may have token series of their own, or if its format annotates them."""
    return meta.has_series or by_name(meta.format).series_are_annotated


def derived_of(path: Path) -> Path:
    """The path of a segment's derived metrics."""
    return path.with_name(path.stem + ENDING)


def about_of(path: Path) -> Path:
    """The path of the `DerivedMeta` of a segment."""
    return path.with_name(path.stem + ABOUT)


def read_derived(path: Path, meta: kind.SegmentMeta) -> kind.DerivedMeta | None:
    """Read which derived metrics a segment has; None if the files are missing, torn, or of another segment."""
    try:
        about: kind.DerivedMeta = decoded(segment.contents_of(about_of(path), segment.META_BYTES), kind.DerivedMeta)
        size_bytes = derived_of(path).stat().st_size
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    is_of = (about.version, about.rows, about.size_bytes) == (VERSION, meta.rows, size_bytes)
    return about if is_of and about.fingerprint == meta.fingerprint else None


def with_derived(step_stats: Sequence[StepStats], about: kind.DerivedMeta) -> list[StepStats]:
    """The step statistics of a segment, with the sums of its derived metrics."""
    moments = {(stats.split, stats.step): stats.moments for stats in about.step_stats}
    return [replace(stats, derived=moments.get((stats.split, stats.step), NO_MOMENTS)) for stats in step_stats]


def _is_written(path: Path, meta: kind.SegmentMeta, *_: object) -> bool:
    about = read_derived(path, meta)
    return about is not None and about.has_current(text_metrics())


def _write(path: Path, records: kind.SegmentSource) -> kind.DerivedMeta:
    meta, rows = records.meta, records.rows
    names = _kept(path, meta).names
    stale = [metric for name, metric in text_metrics().items() if name not in names]
    failures: dict[str, str] = {}
    values: dict[str, Floats] = {}
    if stale:
        lots = kind.cut_rows(rows, lambda row: max(len(row.prompt), len(row.response)), BATCH_CHARS, BATCH_ROWS)
        batches = [values_of_batch(SampleBatch(lot), stale, failures) for lot in kind.until(records.ended, lots)]
        fine = (metric.name for metric in stale if metric.name not in failures)
        values = {name: np.concatenate([batch[name] for batch in batches]) for name in fine}
    return add_values(path, meta, rows, values, failures=failures)


def add_values(
    path: Path,
    meta: kind.SegmentMeta,
    rows: Sequence[SampleRow],
    values: Mapping[str, Floats],
    *,
    failures: dict[str, str] | None = None,
    mark: kind.TokenMark | None = None,
) -> kind.DerivedMeta:
    """Write the values of some metrics beside the others, which stay as they are. Raises `OSError`."""
    with atomic.alone_in(path.parent):  # another viewer may have added values since they were read
        kept = _kept(path, meta)
        before, names = kept.about, [name for name in kept.names if name not in values]
        columns = {derived_column(name): kept.columns[derived_column(name)] for name in names}
        for name, column in values.items():
            columns[derived_column(name)] = pa.array(column, pa.float64(), from_pandas=True)  # NaN is null
        contents = segment.parquet_of(pa.table(columns), codec=segment.LZ4)
        atomic.write(derived_of(path), contents)
        about = kind.DerivedMeta(
            version=VERSION,
            fingerprint=meta.fingerprint,
            rows=meta.rows,
            size_bytes=contents.nbytes,
            versions={name: METRICS[name].version for name in (*names, *values)},
            step_stats=_step_stats(rows, values, before, names),
            failures=dict(before.failures if before else {}) if failures is None else failures,
            tokens=mark or (before.tokens if before else None),
        )
        atomic.write(about_of(path), encoded(about))
        return about


class _Kept(NamedTuple):
    """The metrics of a segment whose values stay as they are."""

    about: kind.DerivedMeta | None = None
    names: Sequence[str] = ()
    columns: Mapping[str, pa.ChunkedArray] = {}


def _kept(path: Path, meta: kind.SegmentMeta) -> _Kept:
    about = read_derived(path, meta)
    if about is not None:
        names = [name for name in about.names if about.versions[name] == METRICS[name].version]
        with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_of(path)) as file:
            table = file.read(columns=[derived_column(name) for name in names], use_threads=False)
            return _Kept(about, names, dict(zip(table.column_names, table.columns, strict=True)))
    return _Kept()


def _step_stats(
    rows: Sequence[SampleRow], values: Mapping[str, Floats], before: kind.DerivedMeta | None, current: Sequence[str]
) -> list[kind.DerivedStats]:
    known = {(stats.split, stats.step): stats.moments for stats in (before.step_stats if before else ())}
    by_step: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_step[row.split, row.step].append(number)
    step_stats = []
    for (split, step), own in by_step.items():
        newest = max(rows[number].launch for number in own)
        trained = [n for n in own if rows[n].launch in (0, newest) and not rows[n].discarded]
        moments = {name: of for name, of in known.get((split, step), NO_MOMENTS).items() if name in current}
        if not moments and len(trained) == 1:
            packed = of_one_sample((name, column[trained[0]].item()) for name, column in values.items())
        else:
            places = slice(None) if len(trained) == len(rows) else np.array(trained, np.intp)
            packed = moments_by_name(moments | {name: moments_of(column[places]) for name, column in values.items()})
        step_stats.append(kind.DerivedStats(split, step, packed))
    return step_stats


DERIVED = kind.SegmentKind("derived", VERSION, ENDING, "texts", _is_written, _write)
