"""At which files of a large run a poll looks: 20,000 of them take a third of a second of the processor.

A folder changes its time when a name in it comes or goes, but not when a file grows in place. So between whole looks,
which list every folder, a poll asks the folders for their times, and looks at the files that changed last and at a part
of the others, until a round of polls has looked at each. Of a folder that changed, it looks at all files, and where the
format allows has only new ones listed.
"""

import heapq
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TypeAlias

from rolloupe.formats import compression_of, listing_once
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
    """Decides for the polls of one run. Times are of the monotonic clock.

    With `by_name`, each source follows from the name of its file alone: see `Format.sources_by_name`.
    """

    def __init__(self, *, by_name: bool) -> None:
        self._by_name = by_name
        self._names: list[str] = []
        self._latest: dict[str, None] = {}
        """The files that changed last, the newest first."""
        self._folders: dict[str, FolderState] = {}
        """The folders that the format listed, missing ones included, in their states before."""
        self._within: dict[str, dict[str, str]] = {}
        """The names of the sources in each folder, by the names of their files."""
        self._due: set[str] = set()
        """The folders that changed, and those to be listed again."""
        self._unsettled: dict[str, float] = {}
        """Folders that changed, and when to list them again."""
        self.may_skip = False
        """True if polls look at some files alone, between whole looks."""
        self._lists_new = False
        """True if new files may be listed alone."""
        self._trusted = True
        """False once names came or went in folders that did not change their times, as some mounted stores do."""
        self._whole_s = self._at_s = -math.inf
        self._was_settled = False
        """True if no folder had changed before the last whole look."""
        self._next = 0

    def is_whole_due(self, now_s: float) -> bool:
        """Tell whether this look must be at everything."""
        if not (self.may_skip and self._trusted) or now_s - self._whole_s >= WHOLE_S:
            return True
        changed = {folder for folder, state in self._folders.items() if _state_of(folder) != state}
        self._due = changed | {folder for folder, at_s in self._unsettled.items() if at_s <= now_s}
        return bool(self._due) and not (self._lists_new and self._due <= self._within.keys())

    @contextmanager
    def whole(self, now_s: float) -> Iterator[None]:
        """Have a whole look: the format lists its sources within this context."""
        folders: dict[str, FolderState] = {}
        with listing_once(lambda folder: folders.setdefault(folder, _state_of(folder))):
            yield
        self._was_settled = folders == self._folders and not self._unsettled
        self._unsettled = {one: now_s + SETTLE_S for one in folders if folders[one] != self._folders.get(one, ())}
        self._folders, self._whole_s, self._at_s = folders, now_s, now_s

    def saw_all(self, sources: Mapping[str, Source], newest: Iterable[tuple[object, str]]) -> None:
        """Take over the result of a whole look. `newest` has the names with what sorts them, the newest greatest."""
        came_or_went = sources.keys() != set(self._names)
        if self.may_skip and came_or_went and self._was_settled and self._is_unchanged():
            self._trusted = False
        if not self._names:
            self._latest = {name: None for _, name in heapq.nlargest(LATEST, newest)}
        self._names, self._within = [], {}
        self._add(sources)
        self.may_skip = (
            len(sources) >= MANY
            and len(self._folders) <= MANY_FOLDERS
            and self._within.keys() <= self._folders.keys()
            and not any(one.depends or one.texts_from or one.stream for one in sources.values())
            and not any(map(is_remote, self._folders))
        )
        self._lists_new = self._by_name and not _has_compressed(sources)

    def _add(self, sources: Mapping[str, Source]) -> None:
        for name, source in sources.items():
            folder, _, file = source.path.rpartition(os.sep)
            if name != (within := self._within.setdefault(folder, {})).get(file):
                within[file] = name
                self._names.append(name)

    def new(self, now_s: float, listed: Callable[[], Iterable[Source]]) -> dict[str, Source] | None:
        """The sources that are new in the folders that changed; `listed` lists all. None if a whole look must tell."""
        states = {folder: _state_of(folder) for folder in self._due}
        if not states:
            return {}
        with listing_once(is_hidden=lambda folder, file: file in self._within.get(folder, ())):
            found = {one.name: one for one in listed()}
        if _has_compressed(found):
            return None
        self._add(found)
        for folder, state in states.items():
            self._unsettled.pop(folder, None)
            if state != self._folders[folder]:
                self._folders[folder], self._unsettled[folder] = state, now_s + SETTLE_S
        return found

    def saw_changes(self, names: Collection[str]) -> None:
        """Note the files that changed: the next looks are at them."""
        if names:
            self._latest = dict.fromkeys(islice(dict.fromkeys([*names, *self._latest]), LATEST))

    def some(self, now_s: float) -> set[str]:
        """The names of the files to look at between whole looks."""
        count, self._at_s = math.ceil(len(self._names) * min(1.0, (now_s - self._at_s) / ROUND_S)), now_s
        start, self._next = self._next, (self._next + count) % len(self._names)
        turn = self._names[start : start + count]
        of_due = (name for folder in self._due for name in self._within[folder].values())
        return {*turn, *self._names[: count - len(turn)], *self._latest, *of_due}

    def _is_unchanged(self) -> bool:
        return all(_state_of(folder) == state for folder, state in self._folders.items())


def _has_compressed(sources: Mapping[str, Source]) -> bool:
    """True if some file is compressed: it may hold what another one does, and only one of them counts."""
    return any(compression_of(one.path) for one in sources.values())


def _state_of(folder: str) -> FolderState:
    try:
        st = path_state(folder)
    except OSError:
        return None
    return st.st_dev, st.st_ino, st.st_mtime_ns, st.st_ctime_ns
