"""Files of the index: written under a temporary name, then renamed, so that readers need no lock."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; at the end, that file replaces `path`, unless an error occurred."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


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
