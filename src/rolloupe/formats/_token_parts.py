"""Token series of the native layout: one row of a Parquet part, read without the rest of it."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

MAX_ROW_GROUP_BYTES = 512 * 2**20
"""The writer makes row groups of a few MB; what claims to be much larger is not read."""

MAX_COLUMNS = 256


class PartUnreadable(Exception):
    """Raised where a part does not hold what a line says it does; its text is the reason."""


class TokenRow(NamedTuple):
    """The row of one sample: its token ids, and each series by name."""

    uid: str
    token_ids: list[int]
    series: dict[str, NDArray[np.float64]]


def part_path(run_root: str, producer: str, part: int) -> Path:
    """Where a part lies."""
    return Path(run_root, "tokens", producer, f"{part:06d}.parquet")


def read_row(path: Path, row: int) -> TokenRow:
    """Read one row of a part. Raises `PartUnreadable`."""
    try:
        with pq.ParquetFile(path) as file:
            group, at = _place(file.metadata, row)
            table = file.read_row_group(group).slice(at, 1)
    except FileNotFoundError:
        raise PartUnreadable(f"{path.name} is not there") from None
    except (OSError, pa.ArrowException, ValueError) as error:
        raise PartUnreadable(f"{path.name} cannot be read: {str(error).splitlines()[0][:200]}") from None
    found = {name: _array(table[name]) for name in table.column_names if pa.types.is_list(table[name].type)}
    arrays = {name: values for name, values in found.items() if values is not None}
    ids = arrays.pop("token_ids", None)
    uid = table["uid"][0].as_py() if "uid" in table.column_names else ""
    return TokenRow(str(uid), [] if ids is None else [int(one) for one in np.nan_to_num(ids, nan=-1)], arrays)


def _place(metadata: pq.FileMetaData, row: int) -> tuple[int, int]:
    if metadata.num_columns > MAX_COLUMNS:
        raise ValueError(f"it has {metadata.num_columns} columns")
    left = row
    for group in range(metadata.num_row_groups):
        held = metadata.row_group(group)
        if left < held.num_rows:
            if held.total_byte_size > MAX_ROW_GROUP_BYTES:
                raise ValueError("a row group is too large")
            return group, left
        left -= held.num_rows
    raise ValueError(f"it has no row {row}")


def _array(column: pa.ChunkedArray) -> NDArray[np.float64] | None:
    """The numbers of a list, None where it is null or holds none; a null among them is NaN."""
    (cell,) = column
    values = cell.values
    if values is None or not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type)):
        return None
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
