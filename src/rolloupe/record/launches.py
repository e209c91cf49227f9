"""Launches: each line of a run names the start of the trainer that wrote it.

A run that resumes from a checkpoint records some steps again, perhaps with other groups or another number of ranks.
Each line names its launch, and only the last launch of a step counts, so the two recordings do not mix. A new launch
begins if no process of the last one is alive, and this process was already part of it or reports another number of
ranks. A late rank joins the current launch, and so does a process that opens its run again. All processes of a launch
share a lock that shows which of them are alive, so no process needs to know another.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rolloupe.record.lines import is_taken
from rolloupe.record.plain import word

PATIENCE_S = 5.0
"""Seconds to wait while other processes start: a stopped process must not block training."""

own_launches: set[tuple[int, str, int]] = set()
"""The launches that this process was part of: if it reopens its run, as notebooks do, it continues its launch."""


class Launch:
    """The launch of a process; holds the launch's lock until `close`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._handle: int | None = None

    def join(self, producer: str, ranks: int, rows: Sequence[Mapping[str, Any]]) -> int:
        """Return the launch number of a process with this many ranks, after the launches in `rows`; call it in `alone`.

        Raises `OSError`.
        """
        valid_rows = [
            row
            for row in rows
            if all(isinstance(row.get(key), int) and 0 < row[key] < 2**31 for key in ("launch", "ranks"))
        ]
        last, last_ranks = (valid_rows[-1]["launch"], valid_rows[-1]["ranks"]) if valid_rows else (1, ranks)
        was_there = any(row.get("producer") == producer for row in valid_rows if row["launch"] == last)
        is_ours = (os.getpid(), str(self._root), last) in own_launches
        is_next = ((was_there and not is_ours) or last_ranks != ranks) and not self._lives(last)
        number = last + 1 if is_next else last
        own_launches.add((os.getpid(), str(self._root), number))
        self.close()
        self._handle = os.open(self._place(number), os.O_RDWR | os.O_CREAT, 0o644)
        is_taken(self._handle, is_shared=True)
        return number

    def close(self) -> None:
        """Release the lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _lives(self, number: int) -> bool:
        """Return whether a process of a launch is alive; always False on a file system without locks."""
        if not self._place(number).exists():
            return False
        handle = os.open(self._place(number), os.O_RDWR)
        try:
            return is_taken(handle)
        finally:
            os.close(handle)

    def _place(self, number: int) -> Path:
        return self._root / f".launch-{number}.lock"


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a file exclusively while other processes wait, on file systems with locks. Raises `OSError`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        until = time.monotonic() + PATIENCE_S
        while is_taken(handle) and time.monotonic() < until:
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)


MAX_NAMES = 10_000


def wanted_name(producer: object) -> str:
    """Return the name for this process: one that is valid as a file name in the run's folder."""
    name = word(producer) or f"rank{os.environ.get('RANK', '0')}"
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "rank0"


def ranks(producer: object) -> int | None:
    """Return the number of processes of the launch; None if this process has a name of its own."""
    if producer:
        return None
    world_size = os.environ.get("WORLD_SIZE", "1")
    return int(world_size) if world_size.isdecimal() and len(world_size) < 10 else None


def names(wanted: str) -> Iterator[str]:
    """Yield the names that the process may take, in order: other processes may hold the first ones."""
    yield wanted
    yield from (f"{wanted}-{number}" for number in range(2, MAX_NAMES + 1))
