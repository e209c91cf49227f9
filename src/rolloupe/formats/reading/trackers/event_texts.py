"""Texts in an event file of TensorBoard by their places: of a range of bytes, the records that begin in it.

A record says only how long it is, so the first of a range is found from the beginning of the file. Where the first
record behind every `STRIDE` bytes begins is kept, so that nothing is passed over twice.
"""

import threading
from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from rolloupe.formats.reading.trackers.crc32c import masked_checksums
from rolloupe.formats.reading.trackers.tensorboard import (
    CHECKSUM,
    HEAD,
    LENGTH_BYTES,
    MAX_RECORD_BYTES,
    TaggedValue,
    heads_of,
    records_of,
)
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.protobuf import BadMessage
from rolloupe.storage import file_state, open_file

STRIDE = 2**20
BLOCK_BYTES = 4 * 2**20
KEPT_FILES = 256


class EventText(NamedTuple):
    """The texts in a record, or why it, or all that follows, is not read."""

    start: int
    stop: int
    texts: list[TaggedValue]
    damage: str = ""


class _Begins:
    """Where some of the records of a file begin, in their order."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known = [0]

    def note(self, place: int) -> None:
        """Keep a place if it is the first behind a stride."""
        if place // STRIDE > self.known[-1] // STRIDE:
            self.known.append(place)


_files: Lru[tuple[str, int], _Begins] = Lru(entries=KEPT_FILES)


def event_texts(location: Location, start: int, stop: int) -> Iterator[EventText]:
    """Yield the texts and the damage in the records that begin in a range of a file. Raises OSError."""
    begins = _files.setdefault((location.path, file_state(location).st_ino), _Begins())
    with open_file(location) as file:
        with begins.lock:
            at = _first(file, begins, start)
        while start <= at < stop:
            following = at
            for one in _texts(_block(file, at), at):
                if one.start >= stop:
                    return
                if one.texts or one.damage:
                    yield one
                following = one.stop if one.stop > one.start else stop  # what follows a damage is unknown
            if following == at:
                return
            at = following


def texts_at(location: Location, start: int, length: int) -> list[TaggedValue]:
    """Return the texts of the record at a place; none if there is no such record. Raises OSError."""
    with open_file(location) as file:
        file.seek(start)
        found = [*_texts(file.read(length), start)]
    return found[0].texts if len(found) == 1 and found[0].stop == start + length else []


def _texts(data: bytes, at: int) -> Iterator[EventText]:
    """Yield the whole records in a block that begins at a place of its file, each with its texts alone."""
    start = at
    try:
        for values, end in records_of(data, at):
            texts = [value for value in values or () if value.texts]
            yield EventText(start, at + end, texts, "" if values is not None else "its checksum does not fit")
            start = at + end
    except BadMessage as error:
        yield EventText(start, start, [], str(error))


def _block(file: BinaryIO, at: int) -> bytes:
    """Read some records, at least the first of them whole if it is there."""
    file.seek(at)
    data = file.read(BLOCK_BYTES)
    length = HEAD.unpack_from(data)[0] + HEAD.size + CHECKSUM.size if len(data) >= HEAD.size else 0
    return data + file.read(length - len(data)) if len(data) < length <= MAX_RECORD_BYTES else data


def _first(file: BinaryIO, begins: _Begins, place: int) -> int:
    """Where the first record begins at a place or behind it, or what precedes it in a damaged file."""
    at = begins.known[bisect_right(begins.known, place) - 1]
    while at < place:
        data = _block(file, at)
        heads = [*heads_of(data)]
        sums = masked_checksums(data, [one for one, *_ in heads], [one + LENGTH_BYTES for one, *_ in heads])
        following = at
        for (head, length, checksum), own in zip(heads, sums.tolist(), strict=True):
            following = at + head + HEAD.size + length + CHECKSUM.size
            if own != checksum or at + head >= place:
                return at + head
            begins.note(following)
        if following == at:
            return at
        at = following
    return at
