"""At which files of a large run a poll looks: 20,000 of them take a third of a second of the processor.

A folder changes its time when a name in it comes or goes, but not when a file grows in place. So between whole looks,
which list every folder, a poll asks the folders for their times, and looks at the files that changed last and at a part
of the others, until a round of polls has looked at each.
"""

import heapq
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TypeAlias

from rolloupe.formats import listing_once
from rolloupe.model import Source
from rolloupe.storage import is_remote, path_state

MANY = 1_000
"""Of a run with fewer files, each poll looks at all."""

MANY_FOLDERS = 256
"""Of a run with more folders, too."""

LATEST = 256
"""So many files that changed last are looked at by each poll."""

ROUND_S = 10.0
"""The time in which polls look at every other file once: a change in place of an old file shows after this time."""

WHOLE_S = 30.0
"""The longest time between two whole looks. It bounds what no time of a folder tells, as a setting that a format reads
or the target of a link."""

SETTLE_S = 2.5
"""This long after a folder's time changed, it is listed again: some file systems count whole seconds, or two."""

FolderState: TypeAlias = tuple[int, ...] | None
"""Device, inode and times; None for a folder that is missing."""


class Looks:
    """Decides for the polls of one run. Times are of the monotonic clock."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._latest: dict[str, None] = {}
        """The files that changed last, the newest first."""
        self._folders: dict[str, FolderState] = {}
        """The folders that the format listed, missing ones included, in their states before."""
        self._may_skip = False
        self._trusted = True
        """False once names came or went in folders that did not change their times, as some mounted stores do."""
        self._whole_s = self._at_s = self._settled_s = -math.inf
        self._was_settled = False
        """True if no folder had changed at the last whole look, nor shortly before the one before it."""
        self._next = 0

    def is_whole_due(self, now_s: float) -> bool:
        """Tell whether this look must be at everything."""
        return (
            not (self._may_skip and self._trusted)
            or now_s - self._whole_s >= WHOLE_S
            or self._whole_s < self._settled_s <= now_s
            or self._has_changed()
        )

    @contextmanager
    def whole(self, now_s: float) -> Iterator[None]:
        """Have a whole look: the format lists its sources within this context."""
        folders: dict[str, FolderState] = {}
        with listing_once(lambda folder: folders.setdefault(folder, _state_of(folder))):
            yield
        self._was_settled = folders == self._folders and self._whole_s >= self._settled_s
        if folders != self._folders:
            self._settled_s = now_s + SETTLE_S
        self._folders, self._whole_s, self._at_s = folders, now_s, now_s

    def saw_all(self, sources: Mapping[str, Source], newest: Iterable[tuple[object, str]]) -> None:
        """Take over the result of a whole look. `newest` has the names with what sorts them, the newest greatest."""
        came_or_went = len(sources) != len(self._names) or any(map(str.__ne__, sources, self._names))
        if self._may_skip and came_or_went and self._was_settled and not self._has_changed():
            self._trusted = False
        if not self._names:
            self._latest = {name: None for _, name in heapq.nlargest(LATEST, newest)}
        self._names = list(sources)
        self._may_skip = (
            len(sources) >= MANY
            and len(self._folders) <= MANY_FOLDERS
            and {one.path.rpartition(os.sep)[0] for one in sources.values()} <= self._folders.keys()
            and not any(one.depends or one.texts_from or one.stream for one in sources.values())
            and not any(map(is_remote, self._folders))
        )

    def saw_changes(self, names: Collection[str]) -> None:
        """Note the files that changed: the next looks are at them."""
        if names:
            self._latest = dict.fromkeys(islice(dict.fromkeys([*names, *self._latest]), LATEST))

    def some(self, now_s: float) -> set[str]:
        """The names of the files to look at between whole looks."""
        count, self._at_s = math.ceil(len(self._names) * min(1.0, (now_s - self._at_s) / ROUND_S)), now_s
        start, self._next = self._next, (self._next + count) % len(self._names)
        turn = self._names[start : start + count]
        return {*turn, *self._names[: count - len(turn)], *self._latest}

    def _has_changed(self) -> bool:
        return any(_state_of(folder) != state for folder, state in self._folders.items())


def _state_of(folder: str) -> FolderState:
    try:
        st = path_state(folder)
    except OSError:
        return None
    return st.st_dev, st.st_ino, st.st_mtime_ns, st.st_ctime_ns
