"""Token series of the native layout: reads one row of a Parquet part without the rest."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.formats.reading.tables.parquet_files import RowGroup, row_groups
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file, open_state, stamp_of_state
from rolloupe.tokens import Floats, most_tokens

MAX_ROW_GROUP_BYTES = 512 * 2**20
"""The writer makes row groups of a few MB; a part that claims much larger ones is not read."""

MAX_VALUES = 2**25
"""Number of values to decode from a row group, whatever their size in the file: twice what is read of one sample."""

MAX_COLUMNS = 4096


_Stamp = tuple[Location, int, int, int]
"""A file, its inode, its size, and when it changed."""
_footers: Lru[_Stamp, list[RowGroup]] = Lru(entries=16, total=2**12)
_groups: Lru[tuple[_Stamp, int], pa.Table] = Lru(entries=4, total=2**24)
"""Samples that are read one after another lie in one row group, which the writer makes of a few MB."""


class PartUnreadable(Exception):
    """Raised if a part does not hold the row that a line names; its text is the reason."""


class TokenRow(NamedTuple):
    """The row of one sample: its token ids, and each series by name."""

    uid: str
    token_ids: list[int]
    series: dict[str, Floats]
    unread: list[str]
    """The columns without a name, and those whose value in this row is no list of numbers."""
    total: int
    """How many tokens the row has: more than the others hold, if there are too many to read."""


def part_path(run_root: str, producer: str, part: int) -> Path:
    """The path of a part."""
    return Path(run_root, "tokens", producer, f"{part:06d}.parquet")


def read_row(location: Location, row: int) -> TokenRow:
    """Read one row of a part; the row groups of the last ones are kept. Raises `PartUnreadable`."""
    with reading(location), open_file(location) as opened:
        stamp = location, *stamp_of_state(open_state(opened))
        group, at = place_of(_footers.get_or_make(stamp, lambda: row_groups(opened), len), row)

        def read() -> pa.Table:
            opened.seek(0)
            with pq.ParquetFile(opened) as file:
                return file.read_row_group(group, use_threads=False)

        return _row(_groups.get_or_make((stamp, group), read, lambda table: int(table.nbytes)).slice(at, 1))


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
    lists = {name: cell.values for name, cell in cells.items() if is_series(name, cell.type)}
    unread = [name or "(a column without a name)" for name in cells if name not in lists]
    count, most = len(lists.get("token_ids", ())), most_tokens(len(lists) - ("token_ids" in lists))
    with np.errstate(all="ignore"):  # a signalling NaN
        arrays = {name: first_of(plain_numbers(values), count, most) for name, values in lists.items()}
    ids = arrays.pop("token_ids", np.zeros(0))
    if not (np.abs(ids) < 2**53).all():
        ids = np.zeros(0)
        unread.append("token_ids")
    return TokenRow(uid, ids.astype(np.int64).tolist(), arrays, unread, max(map(len, lists.values()), default=0))


def place_of(groups: list[RowGroup], row: int) -> tuple[int, int]:
    """Return the number of the row group that holds a row, and the row's number in it. Raises `ValueError`."""
    offset = row
    for number, group in enumerate(groups):
        if group.columns > MAX_COLUMNS:
            raise ValueError(f"it has {group.columns} columns")
        if offset < group.rows:
            if group.size_bytes > MAX_ROW_GROUP_BYTES:
                raise ValueError("a row group is too large")
            if group.values > MAX_VALUES:
                raise ValueError(f"a row group is too large: {group.values:,} values, {MAX_VALUES:,} at most are read")
            return number, offset
        offset -= group.rows
    raise ValueError(f"it has no row {row}")


def is_series(name: str, kind: pa.DataType) -> bool:
    """True for a column with a name and lists of numbers; true and false are 1 and 0."""
    if not name or not pa.types.is_list(kind):
        return False
    of = kind.value_type
    return bool(pa.types.is_floating(of) or pa.types.is_integer(of) or pa.types.is_boolean(of))


def plain_numbers(values: pa.Array) -> NDArray[Any]:
    """The numbers of lists as they are stored; a null element makes them floats, and is NaN."""
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return found


def first_of(values: NDArray[Any], count: int, most: int) -> Floats:
    """The values of the first `most` tokens as floats: values belong to the last of `count` tokens."""
    before = max(0, count - len(values))
    if before + len(values) <= most:
        return np.asarray(values, dtype=np.float64)
    found = np.full(most, np.nan)
    found[before:] = values[: max(0, most - before)]
    return found
