"""Token series of the native layout: reads one row of a Parquet part without the rest."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rolloupe.formats.reading.tables.parquet_footer import RowGroup, row_groups
from rolloupe.model import Location
from rolloupe.storage import open_file
from rolloupe.tokens import Floats

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
    series: dict[str, Floats]
    unread: list[str]
    """The columns whose value in this row is no list of numbers."""


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
    cells = {name: column[0] for name, column in zip(table.column_names, table.columns, strict=True)}
    uid = str(cells.pop("uid").as_py()) if "uid" in cells else ""
    cells = {name: cell for name, cell in cells.items() if cell.is_valid}
    arrays = {name: numbers_of(cell.values) for name, cell in cells.items() if holds_numbers(cell.type)}
    unread = [name for name in cells if name not in arrays]
    ids = arrays.pop("token_ids", np.zeros(0))
    if not (np.abs(ids) < 2**53).all():
        ids = np.zeros(0)
        unread.append("token_ids")
    return TokenRow(uid, ids.astype(np.int64).tolist(), arrays, unread)


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


def holds_numbers(kind: pa.DataType) -> bool:
    """True for the type of lists of numbers; true and false are 1 and 0."""
    if not pa.types.is_list(kind):
        return False
    of = kind.value_type
    return bool(pa.types.is_floating(of) or pa.types.is_integer(of) or pa.types.is_boolean(of))


def numbers_of(values: pa.Array) -> Floats:
    """The numbers of a list; a null element is NaN."""
    with np.errstate(all="ignore"):  # a signalling NaN
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
