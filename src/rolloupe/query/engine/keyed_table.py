"""A table with an index on some of its columns: it takes 16 bytes for each row beside the table."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

CHUNK = 65_536
"""Number of rows whose keys exist as Python objects at a time."""


class KeyedTable:
    """A table by key. Keys are the values of `columns`, texts, in order; several rows may share one."""

    def __init__(self, table: pa.Table, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._arrays = {name: _whole(table[name]) for name in table.column_names}
        hashes = np.empty(len(table), np.int64)
        for start in range(0, len(table), CHUNK):
            part = [self._arrays[name].slice(start, CHUNK).to_pylist() for name in columns]
            hashes[start : start + CHUNK] = [hash(key) for key in zip(*part, strict=True)]
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def rows(self, *key: str) -> list[dict[str, Any]]:
        """The rows of a key, in table order."""
        key_hash = hash(key)
        first = stop = int(self._hashes.searchsorted(key_hash))
        while stop < len(self._hashes) and self._hashes[stop] == key_hash:  # usually one: quicker than another search
            stop += 1
        found = [self._row(at) for at in self._order[first:stop].tolist()]
        return [row for row in found if tuple(row[name] for name in self._columns) == key]

    def _row(self, at: int) -> dict[str, Any]:
        return {name: array[at].as_py() for name, array in self._arrays.items()}


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
