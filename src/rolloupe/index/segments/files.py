"""Files of the index: whether they are whole, and their removal."""

import contextlib
import os
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A pipe without a writer would block for ever."""


def is_readable(path: Path) -> bool:
    """Tell whether a Parquet file exists and is whole. Reads it."""
    try:
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches():
                pass
    except (OSError, pa.ArrowException):
        return False
    return True


def contents_of(path: Path | str, most_bytes: int) -> bytes:
    """Read a file. Raises OSError, and ValueError for one of more bytes or a pipe: others may write to the index."""
    descriptor = os.open(path, os.O_RDONLY | _NEVER_WAIT)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > most_bytes:
            raise ValueError(f"{path} is no file of an index")
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Remove all existing files, of every kind, of the segment whose numbers are at `path`.

    Its numbers go last: what is left by a process that is killed still tells which source it was of.
    """
    own = path.with_suffix(".meta"), path
    others = [file for file in path.parent.glob(f"{path.stem}.*") if file not in own]
    for file in (*others, *own):
        with contextlib.suppress(OSError):
            file.unlink()
