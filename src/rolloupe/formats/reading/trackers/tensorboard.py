"""Reads the event files of TensorBoard: scalars, texts and hyperparameters, by tag and step.

Source: TFRecord (a length in 8 bytes, its checksum in 4, the data, their checksum in 4) and `event.proto`,
`summary.proto` and `tensor.proto` of TensorFlow. A record with a wrong checksum is left out. A
length with a wrong checksum, or a record that is no message, ends the reading of its file: what follows is unknown.
"""

import contextlib
import re
import struct
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    heads = _heads(data)
    places = ((at + HEAD.size, at + HEAD.size + length) for at, length, _ in heads)
    whole = [(start, stop) for start, stop in places if stop + CHECKSUM.size <= len(data)]
    sums = masked_checksums(data, [start for start, _ in whole], [stop for _, stop in whole]).tolist()
    for place, (at, _, is_good) in enumerate(heads):
        if not is_good:
            raise BadMessage(f"at byte {before + at} it is damaged: what follows is not read")
        if place == len(whole):  # still being written
            return
        start, stop = whole[place]
        is_whole = CHECKSUM.unpack_from(data, stop) == (sums[place],)
        yield _values(data[start:stop]) if is_whole else None, stop + CHECKSUM.size


def _heads(data: bytes) -> list[tuple[int, int, bool]]:
    """Return each record's start, its length, and whether the length is valid; the last record may be unfinished."""
    heads, at = [], 0
    while at + HEAD.size <= len(data):
        length, checksum = HEAD.unpack_from(data, at)
        heads.append((at, length, checksum))
        if length > MAX_RECORD_BYTES:
            break
        at += HEAD.size + length + CHECKSUM.size
    places = [at for at, *_ in heads]
    sums = masked_checksums(data, places, [at + LENGTH_BYTES for at in places]).tolist()
    return [
        (at, length, own == checksum and length <= MAX_RECORD_BYTES)
        for (at, length, checksum), own in zip(heads, sums, strict=True)
    ]


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


# CRC-32C of many records at once, masked as TFRecord stores it.
#
# Source: RFC 3720, B.4, for the polynomial; TensorFlow's `crc32c.h` for the mask. Records are cut into rows that end
# where the record ends; zeros before a record do not change a sum that starts at zero. Columns of rows are summed
# together. Then neighbours are joined: the earlier sum moves on by as many zeros as the later row has bytes.

Sums = NDArray[np.uint32]
POLYNOMIAL = 0x82F63B78
"""Castagnoli's polynomial, its bits reversed."""
MASK = 0xA282EAD8
ROW_BYTES = 64
START = bytes.fromhex("54641f64")
"""These bytes have a sum of all ones, with which every sum starts."""
CELLS = 2**20
"""Bytes that are summed together."""


def _tables() -> tuple[Sums, Sums]:
    """Return the sums of single bytes, and the value of each byte of a sum after a row of zeros."""
    table: Sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.uint32(POLYNOMIAL) * (table & np.uint32(1))
    sums: Sums = np.stack([np.arange(256, dtype=np.uint32) << np.uint32(8 * place) for place in range(4)])
    for _ in range(ROW_BYTES):
        sums = table[sums & 0xFF] ^ (sums >> 8)
    return table, sums


TABLE, AFTER_A_ROW = _tables()


def _moved(tables: Sums, sums: Sums) -> Sums:
    """Return sums after they have passed the zeros of some tables."""
    moved: Sums = tables[0][sums & 0xFF]
    for place in (1, 2, 3):
        moved ^= tables[place][(sums >> 8 * place) & 0xFF]
    return moved


def masked_checksums(data: bytes, starts: Sequence[int], stops: Sequence[int]) -> Sums:
    """Return the masked checksum of each piece of the data."""
    first, last = np.array(starts, np.int64), np.array(stops, np.int64)
    sums = np.empty(len(first), np.uint32)
    rows = -(-(last - first + len(START)) // ROW_BYTES)
    doublings = np.ceil(np.log2(rows)).astype(np.int64)
    for times in np.unique(doublings):
        places = np.flatnonzero(doublings == times)
        size = max(1, CELLS // (ROW_BYTES << int(times)))
        for at in range(0, len(places), size):
            some = places[at : at + size]
            sums[some] = _sums(_cells(data, first[some], last[some], ROW_BYTES << int(times)))
    masked: Sums = ((sums >> np.uint32(15)) | (sums << np.uint32(17))) + np.uint32(MASK)
    return masked


def _cells(data: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    """Return `width` bytes for each piece, which ends with the piece, after the bytes that start its sum."""
    cells = np.zeros((len(starts), width), np.uint8)
    begins = width - (stops - starts)
    if len(starts) == 1:  # it may be long: without an index for each of its bytes
        cells[0, begins[0] :] = np.frombuffer(data, np.uint8, width - begins[0], starts[0])
    else:
        within = np.arange(width) >= begins[:, None]
        cells[within] = np.frombuffer(data, np.uint8)[(stops[:, None] - width + np.arange(width))[within]]
    for place, byte in enumerate(START, -len(START)):
        cells[np.arange(len(starts)), begins + place] = byte
    return cells


def _sums(cells: NDArray[np.uint8]) -> Sums:
    rows = np.ascontiguousarray(cells.reshape(-1, ROW_BYTES).T)
    sums: Sums = np.zeros(cells.size // ROW_BYTES, np.uint32)
    for column in rows:
        sums = TABLE[(sums ^ column) & 0xFF] ^ (sums >> 8)
    sums = sums.reshape(len(cells), -1)
    tables = AFTER_A_ROW
    while sums.shape[1] > 1:
        sums = _moved(tables, sums[:, 0::2]) ^ sums[:, 1::2]
        tables = _moved(tables, tables)
    return ~sums[:, 0]


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
