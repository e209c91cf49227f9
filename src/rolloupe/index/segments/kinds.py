"""The list of all kinds of segments, and the room for those of their files that may be deleted.

Nothing else lists the kinds: one added here is written and kept up to date. When room is short, the oldest texts go
first. Scalars are small and stay. Texts are a convenience: without them a search scans the sources.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from rolloupe.index.features import FEATURES
from rolloupe.index.fingerprint import size_of, state_of
from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.segment import ANNOTATIONS, NUMBERS, PACK
from rolloupe.index.segments.texts import TEXTS
from rolloupe.index.token_stats.files import TOKENS

KINDS: tuple[SegmentKind, ...] = (NUMBERS, ANNOTATIONS, TEXTS, DERIVED, TOKENS, FEATURES)
"""All kinds, in the order of writing."""

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
            paths = [path for ending in BUDGETED for path in self._index_dir.rglob(f"*{ending}")]
            states = {path: state_of(path) for path in paths if path.parent.parent not in self.open_folders}
            closed = sorted(states, key=lambda path: state.mtime_ns if (state := states[path]) else 0)
            older = sorted(text for text in texts() if text.age < age)
            for path in [*closed, *(text.path for text in older)]:
                size = size_of(path)
                with contextlib.suppress(OSError):
                    path.unlink()
                    self._used -= size
                if self._used < self.limit_bytes:
                    return True
            self._full[folder] = age
        return False

    def count(self, path: Path) -> None:
        """Count a newly written file."""
        with self._lock:
            self._used += size_of(path)

    def reserve(self, size: int) -> None:
        """Count a file that is being written."""
        with self._lock:
            self._used += size
