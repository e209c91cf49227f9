"""Searches files of JSON lines for the records about one thing, by the value of a key."""

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Location

BLOCK_BYTES = 2**20
MAX_SEARCH_BYTES: Final = 2**30
"""Number of bytes of a file to search."""

MAX_RECORDS: Final = 256
"""Number of records about one thing, the newest, to read from a file."""


def records_about(location: Location, key: str, value: str) -> tuple[list[Record], list[str]]:
    """Return the records of a file whose `key` is `value`, oldest first, and the problems on the way."""
    notes: list[str] = []
    name = Path(location.path).name
    try:
        return newest_about(location, key, value, name, notes), notes
    except OSError as error:
        return [], [f"{name} could not be read: {error.strerror}"]


def newest_about(location: Location, key: str, value: str, producer: str, notes: list[str]) -> list[Record]:
    """Return the newest of these records: a file about nothing else must not fill the memory. Raises OSError."""
    found = deque(_all_about(location, key, value, producer, notes), maxlen=MAX_RECORDS)
    if len(found) == MAX_RECORDS:
        notes.append(f"annotations of {producer}: of very many the last {MAX_RECORDS} count")
    return list(found)


def _all_about(location: Location, key: str, value: str, producer: str, notes: list[str]) -> Iterator[Record]:
    with open_binary(location) as file:
        for line in lines_with(file, _needle(value)):
            record = parsed_or_none(line)
            if record is not None and fields.name(record.get(key)) == value:
                yield record
        if file.tell() >= MAX_SEARCH_BYTES:
            notes.append(f"annotations of {producer}: only the first GiB of {Path(location.path).name} was searched")


def _needle(value: str) -> bytes:
    """Bytes that occur in every line with a value, whether or not JSON escapes it."""
    plain = max(re.split(r"[^A-Za-z0-9 _.:-]", value), key=len)
    return plain.encode() or b'"'


def lines_with(file: Any, needle: bytes) -> Iterator[bytes]:
    """Yield the lines that contain some bytes, in one pass over a file. Lines beyond 16 MiB are skipped."""
    rest, read = b"", 0
    while read < MAX_SEARCH_BYTES and (block := file.read(BLOCK_BYTES)):
        read += len(block)
        data = rest + block
        cut = data.rfind(b"\n") + 1
        yield from _holding(data[:cut], needle)
        rest = data[cut:] if len(data) - cut <= 16 * BLOCK_BYTES else b""
    yield from _holding(rest, needle)


def _holding(data: bytes, needle: bytes) -> Iterator[bytes]:
    at = data.find(needle)
    while at >= 0:
        stop = data.find(b"\n", at)
        stop = len(data) if stop < 0 else stop
        yield data[data.rfind(b"\n", 0, at) + 1 : stop]
        at = data.find(needle, stop)


def parsed_or_none(line: bytes) -> Record | None:
    """Return the object on a line; None for any other line."""
    try:
        return parse(line)
    except Unusable:
        return None
