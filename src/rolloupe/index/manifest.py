"""The manifest of an index: the `.meta` of many segments in one file, since opening a file costs more than reading it.

Segments remain the truth: a `.meta` that the manifest lacks is read from its own file, and an entry without files does
not count. Every manifest has a number. A publisher adds its entries to the newest one and writes the next number, which
only one of several can do; the others start over with what that one wrote. So no entry is lost. Whoever finds a greater
number than their own starts over as well, and finds their entries there, or adds them.
"""

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from rolloupe.index.segments.segment import contents_of
from rolloupe.storage import atomic

NAME = "manifest-{:010d}"
BYTES = 256 * 2**20
"""A larger file is no manifest: one of 20,000 segments has 20 MB."""

READ_TRIES = 20
"""How often to look for the newest manifest while others replace it."""

PUBLISH_TRIES = 10_000
"""How often to write the next one while others are first."""

_NUMBER = re.compile(r"[0-9]{10,15}")

Entries = dict[str, bytes]
"""The contents of `.meta` files by their names, without the ending."""


def read(folder: Path) -> tuple[int, Entries]:
    """Read the newest manifest in a folder, and its number; 0 without one that can be read."""
    for _ in range(READ_TRIES):
        number = max(_numbers(folder), default=0)
        if not number:
            break
        with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
            try:
                return number, msgspec.msgpack.decode(contents_of(folder / NAME.format(number), BYTES), type=Entries)
            except (msgspec.MsgspecError, ValueError, PermissionError):
                return number, {}
    return 0, {}


def publish(folder: Path, entries: Mapping[str, bytes], existing: Collection[str]) -> int:
    """Add entries to the manifest, and drop those without segments. Returns its number. Raises `OSError`."""
    for _ in range(PUBLISH_TRIES):
        number, before = read(folder)
        after = {name: data for name, data in (before | dict(entries)).items() if name in existing or name in entries}
        if number and after == before:
            return number
        if _write_next(folder, number + 1, msgspec.msgpack.encode(after)):
            return number + 1
    raise OSError(errno.EAGAIN, f"others were first {PUBLISH_TRIES:,} times")


def _write_next(folder: Path, number: int, data: bytes) -> bool:
    """Write the manifest with this number, and remove all but the last two; False if another process was first.

    It may have been so long ago that the name is free again: then there is a manifest with a greater number.
    """
    path = folder / NAME.format(number)
    temporary = folder / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        temporary.write_bytes(data)
        if not _linked(temporary, path):
            return False
    finally:
        temporary.unlink(missing_ok=True)
    numbers = _numbers(folder)
    for old in numbers:
        if old < max(numbers) - 1:
            (folder / NAME.format(old)).unlink(missing_ok=True)
    return max(numbers) == number


def _linked(temporary: Path, path: Path) -> bool:
    """Give a file a name that no other has; False if there is such a file."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return temporary.stat().st_nlink == 2  # a network file system may do it, and say so only when asked again
    except OSError:  # a file system without links
        with atomic.alone_in(folder := path.parent):
            if path.exists() or not folder.exists():
                return False
            temporary.rename(path)
    return True


def _numbers(folder: Path) -> list[int]:
    prefix = NAME.partition("{")[0]
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return []
    return [int(number) for name in names if _NUMBER.fullmatch(number := name.removeprefix(prefix))]
