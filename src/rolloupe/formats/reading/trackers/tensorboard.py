"""Reads the event files of TensorBoard: scalars, texts and hyperparameters, by tag and step.

Source: TFRecord (a length in 8 bytes, its checksum in 4, the data, their checksum in 4) and `event.proto`,
`summary.proto` and `tensor.proto` of TensorFlow. A record with a wrong checksum is left out. A
length with a wrong checksum, or a record that is not a message, ends the reading of its file: what follows is unknown.
"""

import contextlib
import re
import struct
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple

import google_crc32c

from rolloupe.formats.reading.trackers.curves import Log, LoggedRow, LoggedRun, parsed
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.protobuf import BadMessage, decoded, fields, members, real, repeated, signed, varint
from rolloupe.storage import file_state, open_file

HEAD = struct.Struct("<QI")
"""A length and its checksum."""
LENGTH_BYTES = 8
CHECKSUM = struct.Struct("<I")
MAX_RECORD_BYTES = 64 * 2**20
WALL_TIME, STEP, SUMMARY = 1, 2, 5
"""Fields of an event."""
SUMMARY_VALUE = 1
TAG, SIMPLE_VALUE, TENSOR = 1, 2, 8
"""Fields of a value."""
CONTENT, FLOATS, DOUBLES, STRINGS = 4, 5, 6, 8
"""Fields of a tensor."""
_PLAIN = re.compile(
    rb"\x09(.{8})(?:\x10([\x80-\xff]{0,9}[\0-\x7f]))?\x2a([\0-\x7f]\x0a[\0-\x7f])\x0a([\0-\x7f])(.{0,118})\x15(.{4})",
    re.DOTALL,
)
"""Most events: one scalar with a short tag. The groups are time, step, sizes, size of the tag, tag and number."""
_NUMBERS = struct.Struct("<df")
HPARAMS = "_hparams_/"
TEXT_SUMMARY = "/text_summary"
ARGS = "args"
"""The tag of the settings that trainers of Hugging Face models write before anything else, as JSON."""
ARGS_BYTES = 64 * 2**10
"""The settings end within this many bytes of a file."""


class TaggedValue(NamedTuple):
    """A value of one tag at one step: a number, or texts."""

    tag: str
    step: int
    time_s: float
    number: float | None = None
    texts: tuple[str, ...] = ()


def is_event_file(name: str) -> bool:
    """Return whether TensorBoard reads files of this name."""
    return ".tfevents." in name


def events(data: bytes) -> Iterator[TaggedValue]:
    """Yield the numbers and texts of a file in their order. Raises `BadMessage` where it is damaged."""
    for values, _ in records_of(data):
        yield from values or ()


def read_beginning(head: bytes) -> LoggedRun:
    """Read the settings and the first scalars of an event file; an empty run if it has no settings."""
    config: dict[str, Any] = {}
    rows: dict[int, LoggedRow] = {}
    with contextlib.suppress(BadMessage):
        for value in events(head) if (ARGS + TEXT_SUMMARY).encode() in head else ():
            if value.tag == ARGS and value.texts and isinstance(settings := parsed(value.texts[0]), dict):
                config |= settings
            elif value.number is not None:
                rows.setdefault(value.step, LoggedRow(value.step, {}, value.time_s)).values[value.tag] = value.number
    return LoggedRun("", [*rows.values()], config)


class EventLog(Log):
    """The scalars of event files by step. Dicts that `run` returned never change.

    If a step repeats, as after a restart, the value written last wins.
    """

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        self._by_step: dict[int, dict[str, float]] = {}
        self._times: dict[int, float] = {}
        """When the last value of each step was written."""
        self._fresh: list[TaggedValue] = []
        self._taken: Counter[str] = Counter()
        self._damage: dict[str, str] = {}
        self._left_out: Counter[str] = Counter()

    def take(self, name: str, data: bytes) -> int:
        if name in self._damage:
            return len(data)
        if name not in self._taken:
            self._config |= read_beginning(data[:ARGS_BYTES]).config
        done = 0
        try:
            for values, stop in records_of(data, self._taken[name]):
                if values is None:
                    self._left_out[name] += 1
                else:
                    self._fresh += (
                        value for value in values if value.number is not None and not value.tag.startswith(HPARAMS)
                    )
                done = stop
        except BadMessage as error:
            self._damage[name] = f"{name}: {error}"
        self._taken[name] += done
        return done

    def merge(self) -> bool:
        """See `Log`: a file may bring an old value of a step for which another file has a newer one."""
        fresh, self._fresh = sorted(self._fresh, key=attrgetter("time_s")), []
        is_first = not self._by_step
        own: set[int] = set()
        for tag, step, time_s, number, _ in fresh:
            if step not in own:
                own.add(step)
                self._by_step[step] = dict(self._by_step.get(step, ()))
            values = self._by_step[step]
            if tag in values and not (is_first or time_s >= self._times[step]):
                return False
            values[tag] = number or 0.0
            self._times[step] = time_s if is_first else max(time_s, self._times.get(step, time_s))
        return True

    def run(self) -> LoggedRun:
        rows = [LoggedRow(step, self._by_step[step], self._times[step]) for step in sorted(self._by_step)]
        lost = "records left out because their checksums do not fit"
        notes = [f"{name}: {lost}: {count:,}" for name, count in self._left_out.items()]
        return LoggedRun("", rows, dict(self._config), damage="; ".join([*self._damage.values(), *notes]))


def records_of(data: bytes, before: int = 0) -> Iterator[tuple[Iterable[TaggedValue] | None, int]]:
    """Yield the values of each whole record, and where it ends; None for one whose checksum does not fit.

    `before` bytes of the file precede `data`. Raises `BadMessage` where the next record cannot be found.
    """
    for at, length, is_good in _heads(data):
        if not is_good:
            raise BadMessage(f"at byte {before + at} it is damaged: what follows is not read")
        start, stop = at + HEAD.size, at + HEAD.size + length
        if stop + CHECKSUM.size > len(data):  # still being written
            return
        record = data[start:stop]
        is_whole = CHECKSUM.unpack_from(data, stop) == (masked_checksum(record),)
        yield _values(record) if is_whole else None, stop + CHECKSUM.size


def _heads(data: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield each record's start, its length, and whether the length is valid; the last record may be unfinished."""
    at, is_good = 0, True
    while is_good and at + HEAD.size <= len(data):
        length, checksum = HEAD.unpack_from(data, at)
        is_good = length <= MAX_RECORD_BYTES and checksum == masked_checksum(data[at : at + LENGTH_BYTES])
        yield at, length, is_good
        at += HEAD.size + length + CHECKSUM.size


def masked_checksum(data: bytes) -> int:
    """Return the CRC-32C of some bytes, masked as TFRecord stores it (TensorFlow's `crc32c.h`)."""
    checksum: int = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _values(event: bytes) -> Iterable[TaggedValue]:
    plain = _PLAIN.fullmatch(event)
    if plain is not None:
        time, step, sizes, size, tag, number = plain.groups()
        if len(tag) == size[0] and sizes == bytes((len(tag) + 9, 0x0A, len(tag) + 7)):
            own = signed(varint(step, 0)[0]) if step else 0
            return (TaggedValue(tag.decode("utf-8", "replace"), own, *_NUMBERS.unpack(time + number)),)
    return _event(event)


def _event(message: bytes) -> Iterator[TaggedValue]:
    event = members(message)
    step = event.get(STEP, 0)
    for summary in repeated(message, SUMMARY):
        for value in repeated(summary, SUMMARY_VALUE):
            yield from _value(value, signed(step) if isinstance(step, int) else 0, real(event.get(WALL_TIME)) or 0.0)


def _value(message: bytes, step: int, time_s: float) -> Iterator[TaggedValue]:
    value = members(message)
    tag, number = decoded(value.get(TAG)), real(value.get(SIMPLE_VALUE))
    texts: tuple[str, ...] = ()
    if isinstance(tensor := value.get(TENSOR), bytes):
        contents = [*fields(tensor)]
        texts = tuple(decoded(content) for field, content in contents if field == STRINGS)
        reals = (real(content) for field, content in contents if field in (CONTENT, FLOATS, DOUBLES))
        numbers = [content for content in reals if content is not None]
        number = numbers[0] if len(numbers) == 1 and not texts else None
    if number is not None or texts:
        yield TaggedValue(tag.removesuffix(TEXT_SUMMARY) if texts else tag, step, time_s, number, texts)


# Texts by their places: those of the records that begin in a range of bytes.
#
# A record says only how long it is, so the search for the first record of a range begins at the start of the file. It
# keeps a place at every `STRIDE` bytes, so that it passes over nothing twice.

STRIDE = 2**20
BLOCK_BYTES = 4 * 2**20
KEPT_FILES = 256


class EventText(NamedTuple):
    """The texts in a record, or the reason why the record, or the rest of the file, is not read."""

    start: int
    stop: int
    texts: list[TaggedValue]
    damage: str = ""


class _Begins:
    """Some places at which records of a file begin, ascending."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.known = [0]

    def note(self, place: int) -> None:
        """Keep the first place after each stride."""
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
            for record in _texts(_block(file, at), at):
                if record.start >= stop:
                    return
                if record.texts or record.damage:
                    yield record
                following = record.stop if record.stop > record.start else stop  # unknown after damage
            if following == at:
                return
            at = following


def texts_at(location: Location, start: int, length: int) -> list[TaggedValue]:
    """Return the texts of the record at a place; none without such a record. Raises OSError."""
    with open_file(location) as file:
        file.seek(start)
        records = [*_texts(file.read(length), start)]
    return records[0].texts if len(records) == 1 and records[0].stop == start + length else []


def _texts(data: bytes, at: int) -> Iterator[EventText]:
    """Yield the whole records in a block that begins at a place of its file, with their texts."""
    start = at
    try:
        for values, end in records_of(data, at):
            texts = [value for value in values or () if value.texts]
            yield EventText(start, at + end, texts, "" if values is not None else "its checksum does not fit")
            start = at + end
    except BadMessage as error:
        yield EventText(start, start, [], str(error))


def _block(file: BinaryIO, at: int) -> bytes:
    """Read some records: the first one whole, if the file has it."""
    file.seek(at)
    data = file.read(BLOCK_BYTES)
    length = HEAD.unpack_from(data)[0] + HEAD.size + CHECKSUM.size if len(data) >= HEAD.size else 0
    return data + file.read(length - len(data)) if len(data) < length <= MAX_RECORD_BYTES else data


def _first(file: BinaryIO, begins: _Begins, place: int) -> int:
    """Return the start of the first record at or after a place; in a damaged file, of a record before it."""
    at = begins.known[bisect_right(begins.known, place) - 1]
    while at < place:
        following = at
        for head, length, is_good in _heads(_block(file, at)):
            following = at + head + HEAD.size + length + CHECKSUM.size
            if not is_good or at + head >= place:
                return at + head
            begins.note(following)
        if following == at:
            return at
        at = following
    return at
