"""JSON documents: how one begins, its members, of which a long list is decoded element by element, and its columns."""

from itertools import takewhile
from typing import Any

import msgspec

from rolloupe.formats.reading.files import while_unchanged
from rolloupe.formats.reading.line_reader import BOM, parse
from rolloupe.formats.reading.peek import first_keys
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trainer_files import document, read_bytes
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import file_state, stamp_of_state

MAX_BYTES = 256 * 2**20
HEAD_BYTES = 2**11
LIMITS = (2**16, 2**20, 2**24)
"""How much of a document is read in turn, until the member that is looked for begins."""

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def beginning(location: Location, *, is_list: bool = False) -> Record:
    """Return the first members of a document, or of the first object in its list; nothing of another file.

    Of the last of them, the value has only the right type.
    """
    try:
        return _beginning(location, is_list=is_list)
    except OSError:
        return {}


@while_unchanged(4096)
def _beginning(location: Location, *, is_list: bool) -> Record:
    with open_binary(location) as file:
        head = file.read(HEAD_BYTES).removeprefix(BOM).lstrip(b" \t\r\n")
    return first_keys(head.removeprefix(b"[") if is_list else head)


def members_before(location: Location, key: str) -> Record:
    """Return the members of a document before one, from its first megabytes; nothing if that does not come there."""
    for limit in LIMITS:
        data = read_bytes(location, limit)
        found = first_keys(data.removeprefix(BOM))
        if key in found:
            return {name: found[name] for name in takewhile(key.__ne__, found)}
        if len(data) < limit:
            break
    return {}


class ListDocument:
    """A document with a list of objects under one key, and its other members."""

    def __init__(self, data: bytes, key: str) -> None:
        """Decode a document. Raises `Unusable`."""
        self.size_bytes = len(data)
        try:
            raw = _members(data.removeprefix(BOM))
            self._listed: list[Any] = _elements(raw.pop(key)) if key in raw else []
            self.rest: Record = parse(msgspec.json.encode(raw))
        except (msgspec.DecodeError, ValueError, RecursionError, Unusable):
            whole = document(data)  # with NaN
            if not isinstance(whole, dict):
                raise Unusable("not a JSON object") from None
            listed = whole.pop(key, None)
            self._listed = listed if isinstance(listed, list) else []
            self.rest = whole

    def __len__(self) -> int:
        return len(self._listed)

    def element(self, number: int) -> Record:
        """Return an object of the list. Raises `Unusable`."""
        found = self._listed[number]
        if isinstance(found, msgspec.Raw):
            return parse(bytes(found))
        if not isinstance(found, dict):
            raise Unusable("no JSON object")
        return found


_documents: Lru[tuple[Location, str, int, int, int], ListDocument] = Lru(entries=2, total=MAX_BYTES)


def list_document(location: Location, key: str) -> ListDocument:
    """Return a document, decoded once until it changes. Raises `Unusable` and OSError."""
    stamp = stamp_of_state(file_state(location))
    return _documents.get_or_make(
        (location, key, *stamp), lambda: _read(location, key), lambda document: document.size_bytes
    )


def _read(location: Location, key: str) -> ListDocument:
    with open_binary(location) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Unusable(f"a document of more than {MAX_BYTES >> 20} MiB: not read")
    return ListDocument(data, key)


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
