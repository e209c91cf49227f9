"""Records whose members are columns: lists with a place for each sample."""

from typing import Any

from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.trainer_files import document

MAX_SAMPLES = 100_000
"""Samples of one record."""


def sample_count(record: Record, column: str) -> int:
    """Return how many samples a column holds. Raises `Unusable`."""
    values = record.get(column)
    if not isinstance(values, list):
        raise Unusable(f"an object without a list under {column!r} holds no columns of samples")
    if len(values) > MAX_SAMPLES:
        raise Unusable(f"more than {MAX_SAMPLES:,} samples in a line: not read")
    return len(values)


def row_at(record: Record, number: int, count: int) -> Record:
    """Return the values of all lists of `count` members at one place; what is no list belongs to all samples.

    Lists of other lengths are left out.
    """
    return {
        key: value[number] if isinstance(value, list) else value
        for key, value in record.items()
        if not isinstance(value, list) or len(value) == count
    }


def unpacked(value: object) -> Any:
    """Return the object or list that a text of JSON holds; any other value unchanged."""
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return value
    try:
        return document(value.encode("utf-8", "surrogatepass"))
    except Unusable:
        return value
