"""Files of the index: whether they are whole, and their removal."""

import contextlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def is_readable(path: Path) -> bool:
    """Tell whether a Parquet file exists and is whole. Reads it."""
    try:
        with pq.ParquetFile(path) as file:
            file.read()
    except (OSError, pa.ArrowException):
        return False
    return True


def discard(path: Path) -> None:
    """Remove all existing files, of every kind, of the segment whose numbers are at `path`.

    Its numbers go last: what is left by a process that is killed still tells which source it was of.
    """
    own = path.with_suffix(".meta"), path
    others = [file for file in path.parent.glob(f"{path.stem}.*") if file not in own]
    for file in (*others, *own):
        with contextlib.suppress(OSError):
            file.unlink()
