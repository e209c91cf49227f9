"""How much the texts of an index may take: where room is short, the oldest go first.

Scalars are small and stay. Texts are a convenience: without them a search scans the sources.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from rolloupe.index.fingerprint import size_of, state_of
from rolloupe.index.segments.segment import PACK
from rolloupe.index.segments.texts import TEXT

LOOK_S = 1.0
"""So long is a sum of sizes taken to hold, what this process itself writes and removes aside."""


class Text(NamedTuple):
    """The texts of a segment: `age` orders those of one run, from old to new."""

    age: int
    path: Path


class Budget:
    """The room for all indexes below a folder; `limit_bytes` None means as much as there is."""

    def __init__(self, index_dir: Path, limit_bytes: int | None) -> None:
        self.limit_bytes = limit_bytes
        self.open_folders: set[Path] = set()
        """The index folders of the runs that are open."""
        self._index_dir = index_dir
        self._lock = threading.Lock()
        self._used = 0
        self._looked_s = -LOOK_S

    def has_room(self, held: Callable[[], Iterable[Text]], age: int) -> bool:
        """Tell whether a text of this age may be written; to make room for it, older ones go.

        First those of runs that are not open go, the longest unused first, then of `held`, the open run's, those that
        are older than `age`.
        """
        if self.limit_bytes is None:
            return True
        with self._lock:
            self._look()
            if self._used < self.limit_bytes:
                return True
            older = sorted(text for text in held() if text.age < age)
            for path in [*self._closed(), *(text.path for text in older)]:
                self._remove(path)
                if self._used < self.limit_bytes:
                    return True
        return False

    def wrote(self, path: Path) -> None:
        """Count a file that was written."""
        with self._lock:
            self._used += size_of(path)

    def _look(self) -> None:
        if time.monotonic() - self._looked_s >= LOOK_S:
            self._used = sum(size_of(path) for path in self._index_dir.rglob("*.*"))
            self._looked_s = time.monotonic()

    def _closed(self) -> list[Path]:
        found = [path for ending in (TEXT, PACK) for path in self._index_dir.rglob(f"*{ending}")]
        return sorted((path for path in found if path.parent.parent not in self.open_folders), key=_changed_ns)

    def _remove(self, path: Path) -> None:
        size = size_of(path)
        with contextlib.suppress(OSError):
            path.unlink()
            self._used -= size


def _changed_ns(path: Path) -> int:
    state = state_of(path)
    return state.mtime_ns if state else 0
