"""The derived metrics of a segment: one column for each, in the order of the segment's rows, and their sums by step.

Each metric has its own version. If one is missing or old, only its values are computed; the existing file supplies the
others.
"""

import contextlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.derive import (
    METRICS,
    BatchValues,
    DerivedMetric,
    SampleBatch,
    text_metrics,
    values_of_batch,
    values_of_siblings,
)
from rolloupe.errors import words_of
from rolloupe.formats import by_name
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.kind import (
    Backfilled,
    DerivedMeta,
    DerivedStats,
    SegmentInputs,
    SegmentKind,
    SegmentMeta,
    SegmentSource,
    TokenMark,
    cut_rows,
    until,
)
from rolloupe.index.segments.segment import LZ4, META_BYTES, contents_of, parquet_of
from rolloupe.index.segments.step_stats import (
    NO_MOMENTS,
    StepStats,
    decoded,
    encoded,
    moments_of,
    of_one_sample,
)
from rolloupe.index.segments.step_stats import by_name as moments_by_name
from rolloupe.model import SampleRow
from rolloupe.storage import atomic

VERSION = 1
ENDING = ".derived.parquet"
ABOUT = ".derived.about"

BATCH_CHARS, BATCH_ROWS = 2**19, 8192
"""The maximum amount of text in a batch: as much as the caches of a processor hold."""


def may_have_tokens(meta: SegmentMeta) -> bool:
    """True if samples of a segment may have token series, whatever annotations hold."""
    return meta.has_series or by_name(meta.format).series_are_annotated


def derived_of(path: Path) -> Path:
    """The path of a segment's derived metrics."""
    return path.with_name(path.stem + ENDING)


def about_of(path: Path) -> Path:
    """The path of the `DerivedMeta` of a segment."""
    return path.with_name(path.stem + ABOUT)


def read_derived(path: Path, meta: SegmentMeta) -> DerivedMeta | None:
    """Read which derived metrics a segment has; None if the files are missing, torn, or of another segment."""
    try:
        about: DerivedMeta = decoded(contents_of(about_of(path), META_BYTES), DerivedMeta)
        size_bytes = derived_of(path).stat().st_size
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    is_of = (about.version, about.rows, about.size_bytes) == (VERSION, meta.rows, size_bytes)
    return about if is_of and about.fingerprint == meta.fingerprint else None


def with_derived(step_stats: Sequence[StepStats], about: DerivedMeta) -> list[StepStats]:
    """The step statistics of a segment, with the sums of its derived metrics."""
    moments = {(one.split, one.step): one.moments for one in about.step_stats}
    return [
        msgspec.structs.replace(stats, derived=moments.get((stats.split, stats.step), NO_MOMENTS))
        for stats in step_stats
    ]


def _is_written(path: Path, meta: SegmentMeta, _: SegmentInputs) -> bool:
    about = read_derived(path, meta)
    return about is not None and about.has_current(text_metrics())


def _write(path: Path, records: SegmentSource) -> DerivedMeta:
    meta, rows = records.meta, records.rows
    kept = _kept(path, meta)
    stale = [metric for name, metric in text_metrics().items() if name not in kept.names]
    batches = until(records.ended, cut_rows(rows, lambda row: len(row.response), BATCH_CHARS, BATCH_ROWS))
    values, failures = _computed(rows, batches, stale, is_cut=(meta.start > 0, meta.complete))
    return add_values(path, meta, rows, values, failures=failures)


def add_values(
    path: Path,
    meta: SegmentMeta,
    rows: Sequence[SampleRow],
    values: dict[str, BatchValues],
    *,
    failures: dict[str, str] | None = None,
    mark: TokenMark | None = None,
) -> DerivedMeta:
    """Write the values of some metrics beside those of the others. The rows need no texts. Raises `OSError`.

    Failures and the mark of the pass over tokens stay as they are unless others are given.
    """
    with atomic.alone_in(path.parent):  # another viewer may have added values since they were read
        kept = _kept(path, meta).without(values)
        before = kept.about
        added = {derived_column(name): _array(METRICS[name], column) for name, column in values.items()}
        contents = parquet_of(pa.table({**kept.columns, **added}), codec=LZ4)
        atomic.write(derived_of(path), contents)
        about = DerivedMeta(
            version=VERSION,
            fingerprint=meta.fingerprint,
            rows=meta.rows,
            size_bytes=contents.nbytes,
            versions={name: METRICS[name].version for name in (*kept.names, *values)},
            step_stats=_step_stats(rows, values, before, kept.names),
            failures=dict(before.failures if before else {}) if failures is None else failures,
            tokens=mark or (before.tokens if before else None),
        )
        atomic.write(about_of(path), encoded(about))
        return about


class _Kept(NamedTuple):
    """The metrics of a segment whose values stay as they are."""

    about: DerivedMeta | None = None
    names: Sequence[str] = ()
    columns: Mapping[str, pa.ChunkedArray] = MappingProxyType({})

    def without(self, names: Collection[str]) -> "_Kept":
        columns = {derived_column(name) for name in names}
        return _Kept(
            self.about,
            [name for name in self.names if name not in names],
            {name: one for name, one in self.columns.items() if name not in columns},
        )


def _kept(path: Path, meta: SegmentMeta) -> _Kept:
    about = read_derived(path, meta)
    if about is None:
        return _Kept()
    names = [name for name in about.names if about.versions[name] == METRICS[name].version]
    columns = _read(path, names)
    return _Kept() if columns is None else _Kept(about, names, columns)  # damaged since


def _read(path: Path, names: Sequence[str]) -> dict[str, pa.ChunkedArray] | None:
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_of(path)) as file:
        table = file.read(columns=[derived_column(name) for name in names], use_threads=False)
        return dict(zip(table.column_names, table.columns, strict=True))
    return None


def _computed(
    rows: Sequence[SampleRow],
    batches: Iterable[Sequence[SampleRow]],
    metrics: Sequence[DerivedMetric],
    *,
    is_cut: tuple[bool, bool],
) -> tuple[dict[str, BatchValues], dict[str, str]]:
    """The values of the metrics, and by name why a metric has none: it raised."""
    failures: dict[str, str] = {}
    of_rows = [metric for metric in metrics if metric.of_siblings is None]
    found = [values_of_batch(SampleBatch(some), of_rows, failures) for some in batches] if of_rows else []
    whole = [metric for metric in of_rows if metric.name not in failures]
    values = {metric.name: _joined(metric, [one[metric.name] for one in found]) for metric in whole}
    for metric in metrics:
        if metric.of_siblings is not None:
            try:
                values[metric.name] = values_of_siblings(metric, rows, is_cut=is_cut)
            except Exception as error:  # must not cost the other metrics
                failures[metric.name] = words_of(error)
    return values, failures


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
        moments = {name: one for name, one in known.get((split, step), NO_MOMENTS).items() if name in current}
        if not moments and len(places) == 1:
            packed = of_one_sample((name, column[places[0]].item()) for name, column in numbers.items())
        else:
            trained = slice(None) if len(places) == len(rows) else np.array(places, np.intp)
            packed = moments_by_name(moments | {name: moments_of(column[trained]) for name, column in numbers.items()})
        step_stats.append(DerivedStats(split, step, packed))
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
