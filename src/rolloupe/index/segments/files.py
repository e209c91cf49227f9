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
    """Remove all existing files, of every kind, of the segment whose numbers are at `path`."""
    base = path.with_suffix("")
    for file in (base.with_suffix(".meta"), *base.parent.glob(f"{base.name}.*")):
        with contextlib.suppress(OSError):
            file.unlink()
