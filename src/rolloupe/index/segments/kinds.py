"""All kinds of segments, and the room for those of their files that may be deleted."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rolloupe.index.features import FEATURES
from rolloupe.index.fingerprint import size_of, state_of
from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.segment import ANNOTATIONS, NUMBERS, PACK
from rolloupe.index.segments.texts import TEXTS
from rolloupe.index.token_stats.files import TOKENS

KINDS: tuple[SegmentKind, ...] = (NUMBERS, ANNOTATIONS, TEXTS, DERIVED, TOKENS, FEATURES)
"""All kinds, in the order of writing."""

BUDGETED = (*(kind.ending for kind in KINDS if kind.budgeted), PACK)
"""The endings of the files that may be deleted."""

LOOK_S = 1.0
"""The time for which a sum of sizes is valid; this process counts its own files at once."""

LOOK_SHARE = 20
"""A sum that took t seconds is valid for at least this many times t: 20,000 segments have many files."""


class Budget:
    """The room for all indexes in a folder; None for `limit_bytes` means no limit.

    When room is short, the oldest texts are deleted first: without them, a search scans the sources.
    """

    def __init__(self, index_dir: Path, limit_bytes: int | None) -> None:
        self.limit_bytes = limit_bytes
        self.open_folders: set[Path] = set()
        """The index folders of the open runs."""
        self._index_dir = index_dir
        self._lock = threading.Lock()
        self._used = 0
        self._due_s = 0.0
        self._full: dict[Path, int] = {}
        """By run, the age of the last text for which no room could be made: older ones have none either."""

    def has_room(self, folder: Path, texts: Callable[[], Iterable[tuple[int, Path]]], age: int) -> bool:
        """Tell whether a text of this age may be written for the run of an index folder, and delete others for it.

        Texts of closed runs go first, the oldest files before the others; then the older `texts` of the open run.
        `texts` are files with their ages: smaller numbers are older.
        """
        if self.limit_bytes is None:
            return True
        with self._lock:
            began_s = time.monotonic()
            if began_s >= self._due_s:
                self._used = sum(size_of(path) for path in self._index_dir.rglob("*.*"))
                self._full.clear()
                now_s = time.monotonic()
                self._due_s = now_s + max(LOOK_S, LOOK_SHARE * (now_s - began_s))
            if self._used < self.limit_bytes:
                return True
            if folder in self._full and age <= self._full[folder]:
                return False
            paths = (path for ending in BUDGETED for path in self._index_dir.rglob(f"*{ending}"))
            closed = [path for path in paths if path.parent.parent not in self.open_folders]
            closed.sort(key=lambda path: state.mtime_ns if (state := state_of(path)) else 0)
            older = sorted(text for text in texts() if text[0] < age)
            for path in [*closed, *(path for _, path in older)]:
                size = size_of(path)
                with contextlib.suppress(OSError):
                    path.unlink()
                    self._used -= size
                if self._used < self.limit_bytes:
                    return True
            self._full[folder] = age
        return False

    def count(self, size: int) -> None:
        """Count the size of a file that was written, or is about to be."""
        with self._lock:
            self._used += size
