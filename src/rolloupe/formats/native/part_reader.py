"""Token series of the native layout, row group by row group: for a pass over all samples of a file."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.formats.native.token_parts import holds_numbers, numbers_of, place_of, reading
from rolloupe.formats.reading.tables.parquet_footer import RowGroup, row_groups
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file
from rolloupe.tokens import Floats

MAX_KEPT_BYTES = 2**27
"""Decoded row groups to keep: samples follow each other in the order of their rows, but for those of several ranks."""


class ListColumn:
    """A column of lists of numbers as one array."""

    def __init__(self, column: pa.ListArray) -> None:
        self._offsets = column.offsets.to_numpy().tolist()
        self._is_null = column.is_null().to_numpy(zero_copy_only=False).tolist() if column.null_count else None
        self.values = numbers_of(column.values)

    def row(self, row: int) -> Floats | None:
        """The list of a row, None for null; a null element is NaN."""
        if self._is_null is not None and self._is_null[row]:
            return None
        values: Floats = self.values[self._offsets[row] : self._offsets[row + 1]]
        return values


class DecodedGroup:
    """A row group."""

    def __init__(self, table: pa.Table) -> None:
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        lists = {name: one for name, one in columns.items() if holds_numbers(one.type)}
        self.uids: list[str | None] = columns["uid"].to_pylist() if "uid" in columns else [""] * len(table)
        self._lists = {name: ListColumn(one) for name, one in lists.items()}
        self._ids = self._lists.pop("token_ids", None)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return sum(one.values.nbytes for one in (*self._lists.values(), *([self._ids] if self._ids else [])))

    def series(self, row: int) -> Mapping[str, Floats]:
        """The series of a row."""
        found = ((name, column.row(row)) for name, column in self._lists.items())
        return {name: values for name, values in found if values is not None}

    def ids(self, row: int) -> NDArray[np.int64] | None:
        """The token ids of a row."""
        values = None if self._ids is None else self._ids.row(row)
        if values is None or not len(values) or not (np.abs(values) < 2**53).all():
            return None
        return values.astype(np.int64)


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
