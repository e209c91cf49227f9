"""Reads the beginning of a file: its first objects, cut short, so that a format can recognise it.

Reads at most `MAX_BYTES`, or `MAX_LINE_BYTES` of JSON lines if their first line is longer. Caches the result until the
file changes.
"""

import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rolloupe.formats.reading import line_reader
from rolloupe.formats.reading.files import JSONL, plain_name, while_unchanged, why_shut
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import damage_of, is_decoded, open_binary
from rolloupe.model import Location
from rolloupe.storage import fetch_beginnings, open_state

FIRST_BYTES = 64 * 2**10
MAX_BYTES = 2**20
MAX_LINE_BYTES = 16 * 2**20
MAX_NULS = 64 * 2**20
"""The most NUL bytes to skip at the beginning, besides those in a hole that the system reports."""
MAX_OBJECTS = 8
MAX_FILES = 4
"""The most files of a folder to look into, not counting empty ones."""
_MAX_EMPTY = 256
_KEPT_CHARS = 256
_KEPT_ITEMS = 4
_KEPT_DEPTH = 7
_SHOWN_BYTES = 40
_space = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


class Peek(NamedTuple):
    """The beginning of a file. `trouble` is the reason for missing objects; an empty file has neither."""

    objects: tuple[Record, ...] = ()
    trouble: str = ""
    whole: bool = True
    """False if the first line is so long that only its first keys were seen."""

    @property
    def empty(self) -> bool:
        return not self.objects and not self.trouble


def look(location: Location) -> Peek:
    """Look into a file; `trouble` is the reason if it cannot be opened."""
    try:
        return look_at(location)
    except OSError as error:
        return Peek(trouble=why_shut(error))


def first_looks(some: Sequence[Location]) -> dict[Location, Peek]:
    """Look into a few non-empty files, from both ends of a list, as old and new files may differ."""
    half = _MAX_EMPTY // 2
    if len(some) > _MAX_EMPTY:
        some = [*some[:half], *some[-half:]]
    looks: dict[Location, Peek] = {}
    in_order = [*some[: MAX_FILES // 2], *reversed(some[MAX_FILES // 2 :])]
    fetch_beginnings(in_order[:MAX_FILES], MAX_BYTES)
    for location in in_order:
        seen = look(location)
        if not seen.empty:
            looks[location] = seen
        if len(looks) == MAX_FILES:
            break
    return looks


def first_records(some: Sequence[Location]) -> list[Record]:
    """Return the first records of a few files of a list: see `first_looks`."""
    return [record for seen in first_looks(some).values() for record in seen.objects]


@while_unchanged(512)
def look_at(location: Location) -> Peek:
    """Look into a file. Raises OSError."""
    with open_binary(location) as file:
        data = file.read(FIRST_BYTES)
        if not is_decoded(file) and (reason := line_reader.why_no_text(data, open_state(file).st_size)):
            return Peek(trouble=reason)
        if data.startswith(line_reader.HOLE):
            start = line_reader.behind_nuls(file, 0, MAX_NULS)
            data = file.read(FIRST_BYTES)
            if not data.strip(b"\0"):
                return Peek(trouble=line_reader.IS_HOLE.format(start))
        whole = not file.peek(1)
        seen = _objects(data, whole=whole)
        if not (whole or (seen.objects and seen.whole)):  # the identifying keys may follow a long text
            data += file.read(MAX_BYTES - len(data))
            seen = _objects(data, whole=not file.peek(1))
            if not seen.whole and plain_name(location.path).endswith(JSONL):
                data += file.readline(MAX_LINE_BYTES - len(data))
                is_ended = data.endswith(b"\n") or not file.peek(1)
                line = _objects(data, whole=True) if is_ended else seen
                seen = line if line.objects else seen
        damage = damage_of(file)
    if damage and not (seen.objects or damage.cut):
        return Peek(trouble=f"{damage.reason}, at byte {damage.offset} of the compressed file")
    return seen


def _objects(data: bytes, *, whole: bool) -> Peek:
    """Return the first objects in the lines of `data`, or the first keys of a line that is cut off."""
    records: list[Record] = []
    trouble = ""
    data = line_reader.strip_bom(data, 0)
    *ended, rest = data.split(b"\n")
    for line in [*ended, rest] if whole else ended:
        if not line.strip(line_reader.BLANK):
            continue
        try:
            records.append(_slim(line_reader.parse(line)))
        except Unusable as error:
            trouble = trouble or f"{error}. It begins with {line[:_SHOWN_BYTES].decode(errors='replace')!r}"
            for start, stop in line_reader.pieces_in(line).objects[:MAX_OBJECTS]:
                with contextlib.suppress(Unusable):
                    records.append(_slim(line_reader.parse(line[start:stop])))
        if len(records) >= MAX_OBJECTS:
            break
    if records or whole:
        return Peek(tuple(records[:MAX_OBJECTS]), "" if records else trouble)
    if begun := first_keys(rest):
        return Peek((_slim(begun),), whole=False)
    return Peek(trouble=trouble or "no JSON object in the first MiB")


def first_keys(data: bytes) -> Record:
    """Read the members of an object whose text is cut off; the last value is an empty one of its type."""
    text = line_reader.replace_lone_surrogates(data.decode("utf-8", errors="replace"))
    record: Record = {}
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        return record
    try:
        while text[at : at + 1] in ("{", ","):
            key, at = _decoder.raw_decode(text, _skip(text, at + 1))
            at = _skip(text, at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                break
            at = _skip(text, at + 1)
            record[key] = _begun(text[at : at + _KEPT_CHARS])
            record[key], at = _decoder.raw_decode(text, at)
            at = _skip(text, at)
    except (ValueError, RecursionError):
        pass
    return record


def _skip(text: str, at: int) -> int:
    match = _space.match(text, at)
    return match.end() if match else at


def _begun(text: str) -> Any:
    if text.startswith('"'):
        return text[1:]
    if text.startswith("["):
        return [_begun(text[1:].lstrip())]
    return {} if text.startswith("{") else None


def _slim(value: Any, depth: int = _KEPT_DEPTH) -> Any:
    """Shorten a value, to save memory."""
    if isinstance(value, str):
        return value[:_KEPT_CHARS]
    if isinstance(value, list):
        return [_slim(element, depth - 1) for element in value[:_KEPT_ITEMS]] if depth else []
    if isinstance(value, dict):
        return {key: _slim(member, depth - 1) for key, member in value.items()} if depth else {}
    return value
