"""Questions about columns of a Parquet file as a whole: their types, and which values repeat.

An unreadable file has no answer.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.tables.parquet_files import (
    BATCH_BYTES,
    KEPT_FOOTERS,
    UNREADABLE,
    PlacedGroup,
    Stamp,
    batches_of,
    groups_of,
    opened_table,
    stamp_of,
)
from rolloupe.formats.reading.tables.rows import python_rows, python_values
from rolloupe.model import Location

LEADING_ROWS = 64
"""How many rows at the beginning of a file tell how large its groups are."""

MANY_ROWS = 2**12
MANY_BYTES = 4 * BATCH_BYTES
"""Of a row group of at most this size so many rows are decoded at once, if each of their texts is in memory once."""


def column_types(location: Location) -> dict[str, str]:
    """Return the types of a file's columns in their order, in the words of Arrow; nothing of an unreadable file."""
    try:
        return _column_types(location, stamp_of(location))
    except UNREADABLE:
        return {}


@lru_cache(maxsize=KEPT_FOOTERS)
def _column_types(location: Location, stamp: Stamp) -> dict[str, str]:
    if not any(group.facts.rows for group in groups_of(location, stamp)):
        return {}
    with opened_table(location) as file:
        return {field.name: str(field.type) for field in file.schema_arrow}


def repeats(location: Location, column: str) -> tuple[int, ...]:
    """Return for each row how often its value in a column came up before the rows with it that lie together here."""
    try:
        return _repeats(location, stamp_of(location), column)
    except UNREADABLE:
        return ()


@lru_cache(maxsize=KEPT_FOOTERS)
def _repeats(location: Location, stamp: Stamp, column: str) -> tuple[int, ...]:
    found: list[int] = []
    times: Counter[str] = Counter()
    last = None
    for group in groups_of(location, stamp):
        for values in _digests(location, group, column, MANY_ROWS):
            for value, count in values:
                times[value] += value != last
                last = value
                found += [times[value] - 1] * count
    return tuple(found)


def _digests(location: Location, group: PlacedGroup, column: str, rows: int) -> Iterator[list[tuple[str, int]]]:
    """The hashes of a column's values in batches, each with how many rows in a row have it.

    A column of texts is read as numbers of different texts: however often one comes up, it is in memory once.
    """
    texts = _texts(location, group, column)
    for batch in batches_of(location, group, [column], rows if texts else 0, texts):
        values = batch.column(0)
        if not pa.types.is_dictionary(values.type):
            yield [(fields.digest(fields.joined(one.get(column))), 1) for one in python_rows(batch, lambda _: False)]
            continue
        numbers = values.indices.to_numpy(zero_copy_only=False)  # of a column with nulls floats, its nulls NaN
        numbers = np.nan_to_num(numbers, nan=-1).astype(np.int64)
        starts = np.flatnonzero(np.diff(numbers, prepend=-2))
        lengths = np.diff(starts, append=len(numbers))
        used, places = np.unique(numbers[starts], return_inverse=True)
        digests = [_digest(values.dictionary, number) for number in used.tolist()]
        yield [(digests[place], count) for place, count in zip(places.tolist(), lengths.tolist(), strict=True)]


def _digest(texts: pa.Array, number: int) -> str:
    """The hash of one text, which alone is copied: it may be large. A negative number is no text."""
    return fields.digest(fields.joined(python_values(texts.slice(number, 1))[0] if number >= 0 else None))


def _texts(location: Location, group: PlacedGroup, column: str) -> list[str]:
    """The column itself if it holds texts, and the row group is not too large; else nothing."""
    is_small = group.facts.rows > 0 and group.facts.size_bytes <= MANY_BYTES
    kinds = _column_types(location, stamp_of(location)) if is_small else {}
    return [column] if kinds.get(column) in ("string", "large_string") else []


def leading_texts(location: Location, column: str) -> tuple[str, ...]:
    """Return the hashes of the values of a column in the first rows of a file; nothing of an unreadable one."""
    try:
        return _leading_texts(location, stamp_of(location), column)
    except UNREADABLE:
        return ()


@lru_cache(maxsize=1024)
def _leading_texts(location: Location, stamp: Stamp, column: str) -> tuple[str, ...]:
    groups = [group for group in groups_of(location, stamp) if group.facts.rows]
    if not groups:
        return ()
    found: list[str] = []
    for values in _digests(location, groups[0], column, LEADING_ROWS):
        found += [value for value, count in values for _ in range(count)]
        if len(found) >= LEADING_ROWS:
            break
    return tuple(found[:LEADING_ROWS])
