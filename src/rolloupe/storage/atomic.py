"""Files on disk: whole ones renamed into place, lines appended so that a torn end costs that line alone."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets this name when it is whole: who reads it sees all of it or what was there before.

    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with made.open("wb") as file:
            yield file
        made.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            made.unlink()
        raise


def write(path: Path, data: bytes) -> None:
    """Write a whole file in place of what was there. Raises OSError."""
    with replacing(path) as file:
        file.write(data)


def append(path: Path, lines: bytes) -> None:
    """Add lines, their ends included, in one piece; a torn last line gets its end first. Raises OSError.

    Where another appends at that moment its line may look torn, and a blank line, which readers pass over, follows it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = memoryview(b"\n" + lines if torn and lines else lines)
        while data:
            data = data[os.write(handle, data) :]
    finally:
        os.close(handle)
