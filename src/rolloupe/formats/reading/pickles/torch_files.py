"""Reads PyTorch's `.pt` files: an archive of a pickle and tensor storages, as PyTorch writes it since release 1.6.

Source: `torch/serialization.py`. Members are stored, not packed, so each is a range of bytes of the file: the pickle is
read block by block, and values of a storage on demand.
"""

import encodings.cp437  # noqa: F401 - or zipfile imports it while it reads a name that is not UTF-8
import struct
import zipfile
from functools import partial
from typing import Any, Final, NamedTuple

from rolloupe.formats.reading.pickles.constructors import storage_type
from rolloupe.formats.reading.pickles.machine import interpret
from rolloupe.formats.reading.pickles.values import Order, StorageRef, UnreadablePickle, Window, width_of
from rolloupe.formats.reading.stream import read_fully
from rolloupe.formats.reading.tables.zip_archives import LargeDirectory, opened_archive
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import open_file, open_state, stamp_of_state

MAX_MEMBERS = 2**17
MAX_DIRECTORY_BYTES = 2**25
KEPT_FILES = 64
KEPT_BYTES = 2**26
"""Memory for files that were read, estimated from their members and the sizes of their pickles."""
BYTES_OF_MEMBER = 2**10
TREE_SHARE = 4
ZIP: Final = b"PK\x03\x04"
FIRST_BYTES = 2**12
_LOCAL = struct.Struct("<26x2H")
"""Two lengths in the header before a member: of its name and of its extra field."""
_BAD_ARCHIVE = (
    zipfile.BadZipFile, ValueError, LookupError, ArithmeticError, RuntimeError, struct.error, EOFError,
)  # fmt: skip
Stamp = tuple[int, int, int]


class TorchFile(NamedTuple):
    """A file as it was when it was read."""

    root: Any
    """Plain data, and the values of `values`."""
    stamp: Stamp
    derived: dict[str, Any]
    """Values that readers derived from the file, by names that they choose."""

    @property
    def size_bytes(self) -> int:
        return self.stamp[1]


class _Member(NamedTuple):
    header: int
    size: int


_files: Lru[Location, TorchFile] = Lru(KEPT_FILES, KEPT_BYTES, least=1)


def torch_file(location: Location) -> TorchFile:
    """Read a `.pt` file, or return it from memory. Raises OSError and `UnreadablePickle`."""
    with open_file(location) as file:
        stamp = stamp_of_state(open_state(file))
        known = _files.get(location)
        if known is not None and known.stamp == stamp:
            return known
        reader = _FileReader(location, stamp)
        if file.read(len(ZIP)) != ZIP:
            raise UnreadablePickle("no archive of PyTorch")
        root, kept_bytes = _from_archive(location, reader)
    torch = TorchFile(root, stamp, {})
    _files.put(location, torch, min(KEPT_BYTES, kept_bytes))
    return torch


class _FileReader:
    """Reads ranges of a file, as long as it does not change."""

    def __init__(self, location: Location, stamp: Stamp) -> None:
        self._location, self._stamp = location, stamp
        self.size = stamp[1]

    def read(self, start: int, count: int) -> bytes:
        try:
            with open_file(self._location, 0) as file:
                if stamp_of_state(open_state(file)) != self._stamp:
                    raise UnreadablePickle("the file has changed since it was opened")
                file.seek(start)
                return read_fully(file, min(count, self.size - start))
        except OSError as error:
            raise UnreadablePickle(f"could not be read: {error.strerror or error}") from None

    def below(self, start: int, size: int, at: int, count: int) -> bytes:
        """Return bytes of a member."""
        return self.read(start + at, max(0, min(count, size - at)))


def _from_archive(location: Location, reader: _FileReader) -> tuple[Any, int]:
    """Return the contents of an archive, and roughly the memory that they take. Raises `UnreadablePickle`."""
    members = _members(location)
    pickle = next((name for name in members if name == "data.pkl" or name.endswith("/data.pkl")), None)
    if pickle is None:
        raise UnreadablePickle("an archive without data.pkl, so not one that PyTorch wrote")
    folder = pickle.removesuffix("data.pkl")
    order: Order = "<"
    if (member := members.get(f"{folder}byteorder")) is not None:
        word = reader.read(_start_of(reader, member), min(member.size, FIRST_BYTES))
        order = ">" if word == b"big" else "<"

    def storage(key: Any) -> StorageRef:
        kind, name, count = _described(key)
        member = members.get(f"{folder}data/{name}")
        if member is None or count * width_of(kind) > member.size:
            raise TypeError

        def read(at: int, count: int) -> bytes:  # the first read looks up where the storage begins
            return reader.below(_start_of(reader, member), member.size, at, count)

        return StorageRef(read, member.size, kind, order)

    member = members[pickle]
    start = _start_of(reader, member)
    root = interpret(Window(partial(reader.below, start, member.size), member.size), storage)
    return root, BYTES_OF_MEMBER * len(members) + member.size // TREE_SHARE


def _members(location: Location) -> dict[str, _Member]:
    try:
        with opened_archive(location, MAX_DIRECTORY_BYTES) as file, zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
    except LargeDirectory as error:
        raise UnreadablePickle(str(error)) from None
    except _BAD_ARCHIVE as error:
        raise UnreadablePickle(f"cut off, still being written, or damaged ({error})") from None
    if len(listed) > MAX_MEMBERS:
        raise UnreadablePickle(f"an archive of {len(listed):,} members: not read")
    if any(info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in listed):
        raise UnreadablePickle("an archive with packed members, which PyTorch never writes: not read")
    return {info.filename: _Member(info.header_offset, info.file_size) for info in listed}


def _start_of(reader: _FileReader, member: _Member) -> int:
    header = reader.read(member.header, _LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(ZIP) or not 0 <= member.header < reader.size:
        raise UnreadablePickle("damaged: a member is not where the directory says")
    return member.header + _LOCAL.size + int(sum(_LOCAL.unpack(header)))


def _described(key: Any) -> tuple[str, str, int]:
    """Return the type, the name and the number of values of a storage. Raises TypeError."""
    if not isinstance(key, tuple) or len(key) < 5 or key[0] != "storage":
        raise TypeError
    _, kind, name, _device, count = key[:5]
    if not isinstance(name, str) or type(count) is not int or count < 0:
        raise TypeError
    return storage_type(kind), name, count
