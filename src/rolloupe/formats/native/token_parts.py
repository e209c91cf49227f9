"""Token series of the native layout: reads one row of a Parquet part without the rest."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.formats.reading.tables.parquet_footer import RowGroup, row_groups
from rolloupe.model import Location
from rolloupe.storage import open_file

MAX_ROW_GROUP_BYTES = 512 * 2**20
"""The writer makes row groups of a few MB; a part that claims much larger ones is not read."""

MAX_VALUES = 2**26
"""Number of values to decode from a row group, whatever their size in the file."""

MAX_COLUMNS = 4096


class PartUnreadable(Exception):
    """Raised if a part does not hold the row that a line names; its text is the reason."""


class TokenRow(NamedTuple):
    """The row of one sample: its token ids, and each series by name."""

    uid: str
    token_ids: list[int]
    series: dict[str, NDArray[np.float64]]


def part_path(run_root: str, producer: str, part: int) -> Path:
    """The path of a part."""
    return Path(run_root, "tokens", producer, f"{part:06d}.parquet")


def read_row(location: Location, row: int) -> TokenRow:
    """Read one row of a part. Raises `PartUnreadable`."""
    with reading(location), open_file(location) as opened:
        group, at = place_of(row_groups(opened), row)
        opened.seek(0)
        with pq.ParquetFile(opened) as file:
            return _row(file.read_row_group(group, use_threads=False).slice(at, 1))


@contextlib.contextmanager
def reading(location: Location) -> Iterator[None]:
    """Turn whatever happens while a part is read into `PartUnreadable`."""
    name = os.path.basename(location.path)
    try:
        yield
    except FileNotFoundError:
        raise PartUnreadable(f"{name} is not there") from None
    except (OSError, pa.ArrowException, ValueError, IndexError, MemoryError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise PartUnreadable(f"{name} cannot be read: {reason[:200]}") from None


def _row(table: pa.Table) -> TokenRow:
    columns = dict(zip(table.column_names, table.columns, strict=True))
    found = {name: _array(column) for name, column in columns.items() if pa.types.is_list(column.type)}
    arrays = {name: values for name, values in found.items() if values is not None}
    ids = arrays.pop("token_ids", None)
    is_whole = ids is not None and bool((np.abs(ids) < 2**53).all())
    uid = columns["uid"][0].as_py() if "uid" in columns else ""
    return TokenRow(str(uid), ids.astype(np.int64).tolist() if ids is not None and is_whole else [], arrays)


def place_of(groups: list[RowGroup], row: int) -> tuple[int, int]:
    """Return the number of the row group that holds a row, and the row's number in it. Raises `ValueError`."""
    offset = row
    for number, group in enumerate(groups):
        if group.columns > MAX_COLUMNS:
            raise ValueError(f"it has {group.columns} columns")
        if offset < group.rows:
            if group.size_bytes > MAX_ROW_GROUP_BYTES or group.values > MAX_VALUES:
                raise ValueError("a row group is too large")
            return number, offset
        offset -= group.rows
    raise ValueError(f"it has no row {row}")


def _array(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """The numbers of a list, None for null or a list without numbers; a null element is NaN."""
    (cell,) = column
    values = cell.values
    if values is None or not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        return None
    with np.errstate(all="ignore"):  # a signalling NaN
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
