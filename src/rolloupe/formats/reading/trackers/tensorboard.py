"""TaggedValue files of TensorBoard: scalars, texts and hyperparameters that a trainer wrote, by tag and step.

Source: TFRecord (a length in 8 bytes, its checksum in 4, the data, their checksum in 4) and `event.proto`,
`summary.proto` and `tensor.proto` of TensorFlow. Checksums, CRC-32C, are not compared: a record that is cut or is no
message ends the reading of its file.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun
from rolloupe.protobuf import BadMessage, fields

LENGTH = struct.Struct("<Q")
CHECKSUM_BYTES = 4
MAX_RECORD_BYTES = 64 * 2**20
MOST_FIELDS = 1_000_000

WALL_TIME, STEP, FILE_VERSION, SUMMARY = 1, 2, 3, 5
"""Fields of an event."""
SUMMARY_VALUE = 1
TAG, SIMPLE_VALUE, TENSOR, METADATA = 1, 2, 8, 9
"""Fields of a value; its metadata have a plugin (1) with a name (1)."""
CONTENT, FLOATS, DOUBLES, STRINGS = 4, 5, 6, 8
"""Fields of a tensor."""
_PLAIN = re.compile(
    rb"\x09(.{8})(?:\x10([\x80-\xff]{0,9}[\0-\x7f]))?\x2a([\0-\x7f]\x0a[\0-\x7f])\x0a([\0-\x7f])(.{0,118})\x15(.{4})",
    re.DOTALL,
)
"""An event with one scalar of a short tag, as most are: its time, step, sizes, the size of its tag, tag and number."""

_NUMBERS = struct.Struct("<df")

HPARAMS = "_hparams_/"
TEXT_SUMMARY = "/text_summary"


class TaggedValue(NamedTuple):
    """A value of one tag at one step: a number, or texts."""

    tag: str
    step: int
    time_s: float
    number: float | None = None
    texts: tuple[str, ...] = ()


def is_event_file(name: str) -> bool:
    """Tell whether a file of this name is one that TensorBoard reads."""
    return ".tfevents." in name


def events(data: bytes) -> Iterator[TaggedValue]:
    """Yield the numbers and texts of a file in its order, until it ends or breaks off.

    Raises `BadMessage` where it is damaged.
    """
    at = 0
    while at + LENGTH.size + CHECKSUM_BYTES <= len(data):
        (length,) = LENGTH.unpack_from(data, at)
        start = at + LENGTH.size + CHECKSUM_BYTES
        if length > MAX_RECORD_BYTES:
            raise BadMessage(f"at byte {at} it is no event file")
        at = start + length + CHECKSUM_BYTES
        if at > len(data):  # still being written
            return
        event = data[start : start + length]
        plain = _PLAIN.fullmatch(event)
        if plain is None:
            yield from _event(event)
            continue
        time, step, sizes, size, tag, number = plain.groups()
        if len(tag) == size[0] and sizes == bytes((len(tag) + 9, 0x0A, len(tag) + 7)):
            yield TaggedValue(tag.decode("utf-8", "replace"), _step(step), *_NUMBERS.unpack(time + number))
        else:
            yield from _event(event)


def read_tensorboard(files: Iterable[tuple[str, bytes]]) -> LoggedRun:
    """Read the scalars of a run from its event files, given by name and content.

    Where steps repeat, as after a restart, the value that was written last wins.
    """
    found: list[TaggedValue] = []
    damage = ""
    for name, data in files:
        try:
            found += (event for event in events(data) if event.number is not None)
        except BadMessage as error:
            damage = f"{name}: {error}"
    found.sort(key=attrgetter("time_s"))
    by_step: dict[int, dict[str, float]] = {}
    times: dict[int, float] = {}
    for event in found:
        if event.number is not None and not event.tag.startswith(HPARAMS):
            by_step.setdefault(event.step, {})[event.tag] = event.number
            times[event.step] = event.time_s
    rows = [LoggedRow(step, by_step[step], times[step]) for step in sorted(by_step)]
    return LoggedRun("", rows, damage=damage)


def _step(varint: bytes | None) -> int:
    if varint is None or len(varint) == 1:
        return varint[0] if varint else 0
    found = sum((byte & 0x7F) << 7 * place for place, byte in enumerate(varint or b""))
    return found - 2**64 if found >= 2**63 else found


def _event(message: bytes) -> Iterator[TaggedValue]:
    time_s, step, summaries = 0.0, 0, []
    for field, value in fields(message, MOST_FIELDS):
        if field == WALL_TIME and isinstance(value, bytes) and len(value) == 8:
            (time_s,) = struct.unpack("<d", value)
        elif field == STEP and isinstance(value, int):
            step = value - 2**64 if value >= 2**63 else value
        elif field == SUMMARY and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for field, value in fields(summary, MOST_FIELDS):
            if field == SUMMARY_VALUE and isinstance(value, bytes):
                yield from _value(value, step, time_s)


def _value(message: bytes, step: int, time_s: float) -> Iterator[TaggedValue]:
    tag = ""
    number: float | None = None
    texts: tuple[str, ...] = ()
    for field, value in fields(message, MOST_FIELDS):
        if field == TAG and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == SIMPLE_VALUE and isinstance(value, bytes) and len(value) == 4:
            (number,) = struct.unpack("<f", value)
        elif field == TENSOR and isinstance(value, bytes):
            number, texts = _tensor(value)
    if number is not None or texts:
        yield TaggedValue(tag.removesuffix(TEXT_SUMMARY) if texts else tag, step, time_s, number, texts)


def _tensor(message: bytes) -> tuple[float | None, tuple[str, ...]]:
    """Return the number of a tensor that has one alone, and its texts."""
    numbers: list[float] = []
    texts = []
    for field, value in fields(message, MOST_FIELDS):
        if not isinstance(value, bytes):
            continue
        if field == STRINGS:
            texts.append(value.decode("utf-8", "replace"))
        elif field in (CONTENT, FLOATS, DOUBLES) and len(value) in (4, 8):
            numbers += struct.unpack("<f" if len(value) == 4 and field != DOUBLES else "<d", value)
    return (numbers[0] if len(numbers) == 1 and not texts else None), tuple(texts)
