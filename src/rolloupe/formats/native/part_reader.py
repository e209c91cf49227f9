"""Token series of the native layout, row group by row group: for a pass over all samples of a file."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.formats.native.token_parts import first_of, is_series, place_of, plain_numbers, reading
from rolloupe.formats.reading.tables.parquet_files import RowGroup, row_groups
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file
from rolloupe.tokens import Floats, most_tokens

MAX_KEPT_BYTES = 2**27
"""Decoded row groups to keep: samples follow each other in the order of their rows, but for those of several ranks."""


class StoredTokens(NamedTuple):
    """What a part holds of a sample."""

    ids: NDArray[np.int64] | None
    series: Mapping[str, Floats]


class ListColumn:
    """A column of lists of numbers as one array."""

    def __init__(self, column: pa.ListArray) -> None:
        self._offsets = column.offsets.to_numpy().tolist()
        self._is_null = column.is_null().to_numpy(zero_copy_only=False).tolist() if column.null_count else None
        self.values = plain_numbers(column.values)

    def row(self, row: int) -> NDArray[Any] | None:
        """The list of a row, None for null; a null element is NaN."""
        if self._is_null is not None and self._is_null[row]:
            return None
        return self.values[self._offsets[row] : self._offsets[row + 1]]


class DecodedGroup:
    """A row group."""

    def __init__(self, table: pa.Table) -> None:
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        lists = {name: one for name, one in columns.items() if is_series(name, one.type)}
        self.uids: list[str | None] = columns["uid"].to_pylist() if "uid" in columns else [""] * len(table)
        self._lists = {name: ListColumn(one) for name, one in lists.items()}
        self._ids = self._lists.pop("token_ids", None)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return sum(one.values.nbytes for one in (*self._lists.values(), *([self._ids] if self._ids else [])))

    def stored(self, row: int) -> StoredTokens:
        """What a row holds of the tokens that are read."""
        found = {name: values for name, column in self._lists.items() if (values := column.row(row)) is not None}
        own = None if self._ids is None else self._ids.row(row)
        count, most = 0 if own is None else len(own), most_tokens(len(found))
        with np.errstate(all="ignore"):  # a signalling NaN
            series = {name: first_of(values, count, most) for name, values in found.items()}
            ids = np.zeros(0) if own is None else first_of(own, count, most)
        return StoredTokens(ids.astype(np.int64) if len(ids) and (np.abs(ids) < 2**53).all() else None, series)


class PartReader:
    """Reads rows of parts; keeps the row groups that it decoded last."""

    def __init__(self) -> None:
        self._footers: dict[Location, list[RowGroup]] = {}
        self._groups: Lru[tuple[Location, int], DecodedGroup] = Lru(total=MAX_KEPT_BYTES, least=1)

    def row(self, location: Location, row: int) -> tuple[DecodedGroup, int]:
        """The row group that holds a row, and the row's number in it. Raises `PartUnreadable`."""
        with reading(location):
            if location not in self._footers:
                with open_file(location) as opened:
                    self._footers[location] = row_groups(opened)
            number, at = place_of(self._footers[location], row)
            group = self._groups.get((location, number))
            if group is None:
                with open_file(location) as opened, pq.ParquetFile(opened) as file:
                    group = DecodedGroup(file.read_row_group(number, use_threads=False))
                self._groups.put((location, number), group, group.nbytes)
            return group, at
