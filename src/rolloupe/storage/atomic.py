"""Writes to disk: whole files renamed into place, and lines appended so that a torn end costs only its line."""

import contextlib
import fcntl
import math
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets this name once it is complete: readers never see a part of it. Raises OSError."""
    temporary = path.with_name(f".{path.name[:50]}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            file = temporary.open("wb")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = temporary.open("wb")
        with file:
            _locked(file)
            yield file
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed processes from a folder: no process holds their locks."""
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > JUST_CREATED_S:
                with path.open("rb") as file:
                    if _locked(file):
                        path.unlink()


JUST_CREATED_S = 5.0
"""A younger file may not have its lock yet."""


def _locked(file: BinaryIO) -> bool:
    """Take the lock of a file until it is closed; False if another process has it, or the system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write(path: Path, data: bytes | memoryview) -> None:
    """Write a whole file, or replace it. Raises OSError."""
    with replacing(path) as file:
        file.write(data)


@contextlib.contextmanager
def alone_in(folder: Path, waits_s: float = math.inf) -> Iterator[bool]:
    """Hold the lock of a folder against other threads and processes, where the system has locks.

    Yields True, or False if another one has held it for `waits_s` seconds: it may be stopped.
    """
    is_alone = True
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)  # closing it releases the lock
            end = time.monotonic() + waits_s
            how = fcntl.LOCK_EX if waits_s == math.inf else fcntl.LOCK_EX | fcntl.LOCK_NB
            while is_alone:
                try:
                    fcntl.flock(handle, how)
                    break
                except BlockingIOError:
                    is_alone = time.monotonic() < end
                    time.sleep(LOOK_S)
        yield is_alone


LOOK_S = 0.005
"""The time between two attempts to take a lock."""


def append(path: Path, lines: bytes) -> None:
    """Append whole lines in one write, after the end of a torn last line. Raises OSError.

    If another process appends at that moment, its line may look torn: a blank line follows it, which readers skip.
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
