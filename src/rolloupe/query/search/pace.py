"""The amount of text to search at a time: a moment's worth, so that a search can end soon.

Arrow searches a column in one call that nothing interrupts. Most patterns take a second for a gigabyte, some for three
megabytes.
"""

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from rolloupe.query.search.pattern import Mask

MOMENT_S = 0.05
"""Target duration of a call; a single text that takes longer is searched in one call."""

FIRST_BYTES = 256 * 1024
"""Amount of text for the first call, before its speed is known."""

LEAST_BYTES = 16 * 1024
"""Starting a call takes as long as searching this much text."""


class SearchStopped(Exception):
    """Raised within a search that is to end."""


class Pace:
    """The speed of a search; its threads share it."""

    def __init__(self) -> None:
        self._size_bytes = FIRST_BYTES

    def mapped(self, look: Callable[[pa.Array], Mask], column: pa.Array, go_on: Callable[[], bool]) -> Mask:
        """Apply `look` to a column of texts, a moment at a time. Raises `SearchStopped` if `go_on` returns False."""
        masks: list[Mask] = []
        first = 0
        while first < len(column) or not masks:
            if not go_on():
                raise SearchStopped
            stop, size_bytes = self._reach(column, first)
            began_s = time.thread_time()
            masks.append(look(column.slice(first, stop - first)))
            took_s = time.thread_time() - began_s
            if size_bytes >= LEAST_BYTES or took_s > MOMENT_S:
                self._size_bytes = max(LEAST_BYTES, int(size_bytes * MOMENT_S / max(took_s, 1e-6)))
            first = stop
        return masks[0] if len(masks) == 1 else np.concatenate(masks)

    def _reach(self, column: pa.Array, first: int) -> tuple[int, int]:
        """The end of the next texts to search, at least one, and their size in bytes."""
        ends = column.buffers()[1]
        if ends is None or not len(column):
            return len(column), 0
        offsets = np.frombuffer(ends, np.int32)[column.offset + first : column.offset + len(column) + 1]
        places = int(np.searchsorted(offsets, int(offsets[0]) + self._size_bytes, side="right")) - 1
        places = min(max(1, places), len(offsets) - 1)
        return first + places, int(offsets[places] - offsets[0])
