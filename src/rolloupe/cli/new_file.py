"""How a command writes a file: never into a run, and over an existing file only if asked to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rolloupe.errors import NotWritable
from rolloupe.storage import is_below
from rolloupe.storage.atomic import replacing

if TYPE_CHECKING:
    from rolloupe.api import Runs


def refuse_existing(file: Path, *, overwrite: bool) -> None:
    """Raise `NotWritable` for a file that exists, unless `overwrite` is set."""
    if not overwrite and os.path.lexists(file):
        raise _exists(file)


def refuse_part_of(runs: "Runs", file: Path) -> None:
    """Raise `NotWritable` for a file that is, or would be, part of a run."""
    for run in runs:
        if is_below(str(file.resolve()), str(Path(run.path).resolve())):
            raise NotWritable(f"{file} is part of run {run.id!r}, which is only read. Next: name a file elsewhere")


@contextmanager
def new_file(file: Path, runs: "Runs", *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Open a file next to the target, and rename it when it is complete.

    Raises `NotWritable` for part of a run, and for a file that exists or appears meanwhile, unless `overwrite` is set.
    """
    refuse_part_of(runs, file)
    refuse_existing(file, overwrite=overwrite)
    try:
        file.parent.stat()  # `replacing` would make the folder
        with replacing(file) as target:
            yield target
            if not overwrite:
                file.open("xb").close()  # fails if another process made the file meanwhile
    except FileExistsError:
        raise _exists(file) from None
    except OSError as error:
        raise NotWritable(f"{file} cannot be written: {error.strerror or error}. Next: name another file") from None


def _exists(file: Path) -> NotWritable:
    return NotWritable(f"{file} exists. Next: name another file, or add --overwrite to replace it")
