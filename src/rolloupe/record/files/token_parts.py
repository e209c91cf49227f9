"""Writes token series: a Parquet part with one row for each sample, renamed into place when it is complete."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rolloupe.record.values.arrays import Array
from rolloupe.storage import atomic

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_VALUES = 2**20
"""Approximate number of values in a row group, which is read and decoded whole for one sample."""


@functools.cache
def import_arrow() -> None:
    """Import pyarrow early: at interpreter shutdown it is too late. The first array imports pandas, if installed."""
    import pyarrow as pa
    import pyarrow.parquet

    pa.array([0])


def write_part(path: Path, rows: Sequence[tuple[str, Mapping[str, Array]]]) -> None:
    """Write `uid` and the series of samples. Raises `OSError`."""
    import pyarrow.parquet as pq

    table, floats = _table(rows)
    values = sum(len(one) for _, series in rows for one in series.values())
    with atomic.replacing(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=False,
            use_byte_stream_split=[f"{name}.list.element" for name in floats if "." not in name] or False,
            row_group_size=max(1, len(rows) * ROW_GROUP_VALUES // max(1, values)),
            write_statistics=False,
        )


def _table(rows: Sequence[tuple[str, Mapping[str, Array]]]) -> "tuple[pa.Table, list[str]]":
    import pyarrow as pa

    names = list(dict.fromkeys(name for _, series in rows for name in series))
    columns: dict[str, Any] = {"uid": pa.array([uid for uid, _ in rows], pa.string())}
    floats = []
    for name in names:
        arrays = [series.get(name) for _, series in rows]
        kind = (
            np.dtype(np.int32) if all(one is None or one.dtype == np.int32 for one in arrays) else np.dtype(np.float32)
        )
        floats += [name] if kind == np.float32 else []
        columns[name] = _lists(arrays, kind)
    return pa.table(columns), floats


def _lists(arrays: Sequence[Array | None], kind: "np.dtype[Any]") -> "pa.ListArray":
    import pyarrow as pa

    lengths = [0 if one is None else len(one) for one in arrays]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    present = [one.astype(kind, copy=False) for one in arrays if one is not None]
    values = pa.array(np.concatenate(present) if present else np.zeros(0, kind))
    absent = pa.array([one is None for one in arrays])
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=absent)
