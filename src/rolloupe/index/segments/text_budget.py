"""Limits the size of an index: when room is short, the oldest texts go first.

Scalars are small and stay. Texts are a convenience: without them a search scans the sources.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from rolloupe.index.fingerprint import size_of, state_of
from rolloupe.index.segments.kinds import KINDS
from rolloupe.index.segments.segment import PACK

BUDGETED = (*(kind.ending for kind in KINDS if kind.is_budgeted), PACK)
"""The endings of the files that may be deleted."""

LOOK_S = 1.0
"""How long a sum of sizes stays valid, except for files that this process itself writes and removes."""

LOOK_SHARE = 20
"""After a look that takes t, the sum stays valid for at least this many t: 20,000 segments have many files."""


class Text(NamedTuple):
    """The texts of a segment; `age` orders the texts of one run from old to new."""

    age: int
    path: Path


class Budget:
    """The room for all indexes in a folder; None for `limit_bytes` means no limit."""

    def __init__(self, index_dir: Path, limit_bytes: int | None) -> None:
        self.limit_bytes = limit_bytes
        self.open_folders: set[Path] = set()
        """The index folders of the open runs."""
        self._index_dir = index_dir
        self._lock = threading.Lock()
        self._used = 0
        self._due_s = 0.0
        self._full: dict[Path, int] = {}
        """The age up to which texts of a run have no room, as the last attempt to make some showed."""

    def has_room(self, folder: Path, texts: Callable[[], Iterable[Text]], age: int) -> bool:
        """Tell whether a text of this age may be written for the run of an index folder; deletes older ones for it.

        Texts of closed runs go first, the oldest files before the others; then those of the open run's `texts` that are
        older than `age`.
        """
        if self.limit_bytes is None:
            return True
        with self._lock:
            self._look()
            if self._used < self.limit_bytes:
                return True
            if folder in self._full and age <= self._full[folder]:
                return False
            older = sorted(text for text in texts() if text.age < age)
            for path in [*self._closed(), *(text.path for text in older)]:
                self._remove(path)
                if self._used < self.limit_bytes:
                    return True
            self._full[folder] = age
        return False

    def wrote(self, path: Path) -> None:
        """Count a newly written file."""
        with self._lock:
            self._used += size_of(path)

    def reserve(self, size: int) -> None:
        """Count a file that is being written."""
        with self._lock:
            self._used += size

    def _look(self) -> None:
        began_s = time.monotonic()
        if began_s >= self._due_s:
            self._used = sum(size_of(path) for path in self._index_dir.rglob("*.*"))
            self._full.clear()
            now_s = time.monotonic()
            self._due_s = now_s + max(LOOK_S, LOOK_SHARE * (now_s - began_s))

    def _closed(self) -> list[Path]:
        paths = [path for ending in BUDGETED for path in self._index_dir.rglob(f"*{ending}")]
        return sorted((path for path in paths if path.parent.parent not in self.open_folders), key=_changed_ns)

    def _remove(self, path: Path) -> None:
        size = size_of(path)
        with contextlib.suppress(OSError):
            path.unlink()
            self._used -= size


def _changed_ns(path: Path) -> int:
    state = state_of(path)
    return state.mtime_ns if state else 0
