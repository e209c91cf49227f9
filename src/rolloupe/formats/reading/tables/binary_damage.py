"""Why a Parquet file or a `.pt` file cannot be read, from its beginning and its end, and what to do about it."""

import os
from typing import NamedTuple

from rolloupe.formats.reading.stream import LFS_POINTER
from rolloupe.formats.reading.tables.parquet_files import UNREADABLE, first_batch, groups_of, stamp_of
from rolloupe.model import Location
from rolloupe.storage import open_file

LOOKED_AT = 2**12

AGAIN = "Next: copy it again, or have its writer write it again"
WAIT = "Next: wait until its writer is done; if nobody writes it any more, copy it again"

_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "compressed by gzip", "Next: unpack it with gunzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "Next: unpack it with zstd -d"),
    (b"PK\x03\x04", "a zip archive", "Next: unpack it"),
    (b"ARROW1", "an Arrow file (Feather)", "Next: write it as Parquet, as with pyarrow.parquet.write_table"),
    (b"SQLite format 3\0", "a database of SQLite", "Next: name it .db"),
    (b"\x89HDF", "HDF5", "Next: write its samples as JSON lines"),
    (b"\x93NUMPY", "an array of NumPy", "Next: write its samples as JSON lines"),
    (b"PAR1", "a Parquet file", "Next: name it .parquet"),
    (LFS_POINTER, "a pointer of Git LFS in place of the file", "Next: run git lfs pull in its repository"),
    (b"<!DOCTYPE", "a web page, such as an error of a download", AGAIN),
    (b"<html", "a web page, such as an error of a download", AGAIN),
    (b"<?xml", "XML, such as an error of an object store", AGAIN),
    (b"{", "JSON", "Next: name it .jsonl"),
    (b"[", "JSON", "Next: name it .json"),
)


class _FileEnds(NamedTuple):
    size: int
    head: bytes
    tail: bytes


def _ends(location: Location) -> _FileEnds:
    with open_file(location) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(LOOKED_AT)
        file.seek(max(0, size - LOOKED_AT))
        return _FileEnds(size, head, file.read(LOOKED_AT))


def _common(ends: _FileEnds, own: bytes) -> str:
    """What any file may be in place of one that begins with its own bytes; empty for none of these."""
    if not ends.size:
        return f"empty: 0 bytes. {WAIT}"
    if not any(ends.head) and not any(ends.tail):
        return f"zeros in place of contents, as after a crash or an incomplete copy. {AGAIN}"
    if not any(ends.tail[-64:]):
        return f"cut off: its end is zeros, as after a crash or an incomplete copy. {AGAIN}"
    if not any(ends.head[:16]):
        return f"damaged: its beginning is zeros. {AGAIN}"
    for start, what, step in _OTHERS:
        if not own.startswith(start) and ends.head.lstrip(b" \r\n\t").startswith(start):
            return f"{what}, whatever its name says. {step}"
    return ""


def why_no_table(location: Location) -> str:
    """Why a Parquet file cannot be read; empty if its beginning and its end are whole."""
    try:
        ends = _ends(location)
        if reason := _common(ends, b"PAR1"):
            return reason
        head, tail = ends.head[:4], ends.tail[-4:]
        if b"PARE" in (head, tail):
            return "an encrypted Parquet file, for which Rolloupe has no key. Next: write it without encryption"
        if head != b"PAR1":
            what = (
                "damaged: its first bytes are not those of Parquet" if tail == b"PAR1" else "no Parquet file: garbled"
            )
            return f"{what}. {AGAIN}"
        if tail != b"PAR1":
            return f"cut off, or still being written: its last bytes are no end of a Parquet file. {WAIT}"
        length = int.from_bytes(ends.tail[-8:-4], "little")
        if length + 12 > ends.size:
            return f"damaged: its end claims a footer of {length:,} bytes, and the file has {ends.size:,}. {AGAIN}"
        try:
            groups = groups_of(location, stamp_of(location))
        except ValueError as error:
            return f"damaged: {error}. {AGAIN}"
        try:
            if groups:
                first_batch(location, groups[0], 1)
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno:
                raise
            words = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            return words if "Next:" in words else f"damaged: its first row group cannot be decoded ({words}). {AGAIN}"
    except OSError:
        return ""
    return ""


def why_no_torch(location: Location) -> str:
    """Why a `.pt` file cannot be read, where its beginning and its end say so; empty for all else."""
    try:
        ends = _ends(location)
    except OSError:
        return ""
    if reason := _common(ends, b"PK\x03\x04"):
        return reason
    if ends.head.startswith(b"PK\x03\x04"):
        with open_file(location) as file:
            file.seek(max(0, ends.size - 2**16 - 22))
            has_directory = b"PK\x05\x06" in file.read()
        return "" if has_directory else f"cut off, or still being written: the archive has no directory. {WAIT}"
    if ends.head[:1] != b"\x80":
        return f"no file of PyTorch: garbled, or another file of this name. {AGAIN}"
    return ""
