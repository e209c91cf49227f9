"""The sources of a run: their current state, when they changed, how often polls look at them, and at which. A run that
grows, or that a person asked about, is polled often. An old run is polled seldom: otherwise a viewer of many old runs
would do nothing else.
"""

import heapq
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from rolloupe.formats import compression_of, known_length, listing_once
from rolloupe.formats.base import Format
from rolloupe.index.fingerprint import FileState, size_of, state_of_source
from rolloupe.index.run_scheduler import CLOCK, Clock, RunScheduler
from rolloupe.model import RunFile, RunInfo, Source
from rolloupe.storage import is_remote, path_state, trouble_at

GAPS = 3
"""A run counts as ended after this many times its longest gap between writes."""

MIN_QUIET_S = 600.0
"""The least time, until gaps are known: steps of large models take minutes."""

MAX_QUIET_S = 6 * 3600.0
"""The most time: a run that paused for a weekend has no steps of that length."""


class Rhythm:
    """The longest known gap between two writes of a run. One thread learns; any thread may read."""

    def __init__(self) -> None:
        self._gap_s = 0.0

    def learn_gap(self, seconds: float) -> None:
        """Learn a gap between two writes."""
        if seconds > self._gap_s:  # false for NaN
            self._gap_s = seconds

    def learn_writes(self, times_s: Iterable[float]) -> None:
        """Learn the times of writes, in seconds by one clock, in any order."""
        for before, after in pairwise(sorted(filter(math.isfinite, times_s))):
            self.learn_gap(after - before)

    @property
    def quiet_s(self) -> float:
        """After this many quiet seconds the run counts as ended."""
        return min(MAX_QUIET_S, max(MIN_QUIET_S, GAPS * self._gap_s))


MANY_FILES = 1_000
"""A poll looks at all files of a run with fewer than these."""

MANY_FOLDERS = 256
"""A poll also looks at all files of a run with more folders than these."""

LATEST = 256
"""The number of files, those that changed last, that each poll looks at."""

ROUND_S = 10.0
"""The time in which polls look once at each of the other files: a change within an old file is found after this time.
"""

WHOLE_S = 30.0
"""The longest time between two whole polls. These find changes that the times of folders do not show, such as in a
setting that a format reads, or behind a link."""

SETTLE_S = 2.5
"""The time after which a changed folder is listed again: some file systems count whole seconds, or two."""

FolderState: TypeAlias = tuple[int, ...] | None
"""Device, inode and times; None for a folder that is missing."""


class PollRates:
    """Decides which files and folders of a run each poll looks at.

    With `by_name`, each source follows from the name of its file alone: see `Format.sources_by_name`.
    """

    def __init__(self, *, by_name: bool) -> None:
        self._by_name = by_name
        self._names: list[str] = []
        self._latest: dict[str, None] = {}
        """The files that changed last, the newest first."""
        self._folders: dict[str, FolderState] = {}
        """The former states of the folders that the format listed, missing folders included."""
        self._within: dict[str, dict[str, str]] = {}
        """The names of the sources in each folder, by the names of their files."""
        self._due: set[str] = set()
        """The folders to list now: they changed, or their time is up."""
        self._unsettled: dict[str, float] = {}
        """When to list changed folders again."""
        self.may_skip = False
        """True if polls between whole ones look at some files only."""
        self._lists_new = False
        """True if new files may be listed alone."""
        self._trusted = True
        """False once names came or went in folders whose times stayed the same, as in some mounted stores."""
        self._whole_s = self._at_s = -math.inf
        self._next = 0

    def is_whole_due(self, now_s: float) -> bool:
        """Tell whether this poll must look at everything."""
        if not (self.may_skip and self._trusted) or now_s - self._whole_s >= WHOLE_S:
            return True
        changed = {folder for folder, state in self._folders.items() if folder_state(folder) != state}
        self._due = changed | {folder for folder, at_s in self._unsettled.items() if at_s <= now_s}
        return bool(self._due) and not (self._lists_new and self._due <= self._within.keys())

    def look_at_all(self, now_s: float, listed: Callable[[], Iterable[Source]]) -> "dict[str, SourceState]":
        """Make a whole poll: note the folders in which the format lists its sources, and return their states."""
        folders: dict[str, FolderState] = {}
        with listing_once(lambda folder: folders.setdefault(folder, folder_state(folder))):
            places = _states(listed())
        was_settled = folders == self._folders and not self._unsettled
        self._unsettled = {
            folder: now_s + SETTLE_S for folder in folders if folders[folder] != self._folders.get(folder, ())
        }
        self._folders, self._whole_s, self._at_s = folders, now_s, now_s
        if self.may_skip and was_settled and places.keys() != set(self._names):
            self._trusted &= any(folder_state(folder) != state for folder, state in folders.items())
        if not self._names:
            newest = heapq.nlargest(LATEST, ((place.age, name) for name, place in places.items()))
            self._latest = {name: None for _, name in newest}
        sources = {name: place.source for name, place in places.items()}
        self._names, self._within = [], {}
        self._add(sources)
        self.may_skip = (
            len(sources) >= MANY_FILES
            and len(self._folders) <= MANY_FOLDERS
            and self._within.keys() <= self._folders.keys()
            and not any(source.depends or source.texts_from or source.stream for source in sources.values())
            and not any(map(is_remote, self._folders))
        )
        self._lists_new = self._by_name and not _has_compressed(sources)
        return places

    def _add(self, sources: Mapping[str, Source]) -> None:
        for name, source in sources.items():
            folder, _, file = source.path.rpartition(os.sep)
            if name != (within := self._within.setdefault(folder, {})).get(file):
                within[file] = name
                self._names.append(name)

    def find_new(self, now_s: float, listed: Callable[[], Iterable[Source]]) -> dict[str, Source] | None:
        """The new sources in the changed folders; `listed` lists all sources. None if only a whole poll can tell."""
        states = {folder: folder_state(folder) for folder in self._due}
        if not states:
            return {}
        with listing_once(is_hidden=lambda folder, file: file in self._within.get(folder, ())):
            new = {source.name: source for source in listed()}
        if _has_compressed(new):
            return None
        self._add(new)
        for folder, state in states.items():
            self._unsettled.pop(folder, None)
            if state != self._folders[folder]:
                self._folders[folder], self._unsettled[folder] = state, now_s + SETTLE_S
        return new

    def note_changes(self, names: Collection[str]) -> None:
        """Note the files that changed: the next polls look at them."""
        if names:
            self._latest = dict.fromkeys(islice(dict.fromkeys([*names, *self._latest]), LATEST))

    def due_files(self, now_s: float) -> set[str]:
        """The names of the files to look at between whole polls."""
        count, self._at_s = math.ceil(len(self._names) * min(1.0, (now_s - self._at_s) / ROUND_S)), now_s
        start, self._next = self._next, (self._next + count) % len(self._names)
        turn = self._names[start : start + count]
        of_due = (name for folder in self._due for name in self._within[folder].values())
        return {*turn, *self._names[: count - len(turn)], *self._latest, *of_due}


def _has_compressed(sources: Mapping[str, Source]) -> bool:
    """True if some file is compressed: a plain file with the same records may replace it."""
    return any(compression_of(source.path) for source in sources.values())


def folder_state(folder: str) -> FolderState:
    """The state of a folder."""
    try:
        st = path_state(folder)
    except OSError:
        return None
    return st.st_dev, st.st_ino, st.st_mtime_ns, st.st_ctime_ns


ENDING_S = 2.0
"""The interval at which a run's own marker of its end is read."""

TIMES_S = 60.0
"""The shortest interval at which a run's own times of its steps are read."""

QUIET_S = 3.0
"""A file that has not grown for this long counts as quiet."""


class SourceState(NamedTuple):
    """A source and the current state of its file."""

    source: Source
    state: FileState

    @property
    def age(self) -> tuple[bool, int, int, str]:
        """Sorts from old to new: by the step in the name if there is one, else by time. Annotations follow samples."""
        step = self.source.step
        return (not self.source.annotates, -1 if step is None else step, self.state.mtime_ns, self.source.name)


class Seen(NamedTuple):
    """The result of a poll: the names of new or changed sources, and of missing ones."""

    changed: set[str]
    lost: set[str]


class Sources:
    """The sources of a run, by name. One thread polls; any thread may read."""

    def __init__(
        self, run: RunInfo, form: Format, scores: Callable[[], Sequence[Source]] = tuple, clock: Clock = CLOCK
    ) -> None:
        self._run, self._format, self._scores, self._clock = run, form, scores, clock
        self._places: Mapping[str, SourceState] = {}
        self._rates = PollRates(by_name=form.sources_by_name)
        self.looked_at_all = True
        """False if the last poll looked at the files that change, and at some others."""
        self._newest_ns: int | None = None
        self._scored: set[str] = set()
        self._first_look_s: float | None = None
        self._lengths: dict[str, tuple[FileState, int | None]] = {}
        """The stream lengths of compressed sources, if known in advance."""
        self.changed_at: dict[str, float] = {}
        """When each source last changed, by the clock of this process; 0 at the first poll."""
        self.rhythm = Rhythm()
        self._launches: dict[str, tuple[int, ...]] = {}

    def mark(self, launches: Mapping[str, tuple[int, ...]]) -> set[str]:
        """Note where launches begin, by source. Returns the names of the sources for which that is new."""
        names = {name for name in {**self._launches, **launches} if self._launches.get(name) != launches.get(name)}
        self._launches = {**launches}
        if names:
            places = self._places.items()
            self._places = {name: place._replace(source=self._marked(place.source)) for name, place in places}
        return names

    def _marked(self, source: Source) -> Source:
        known = self._launches.get(source.name, ())
        return source if source.launches == known else replace(source, launches=known)

    def look(self) -> Seen:
        """Poll the sources: all of them, or of a large run those that may have changed, and some others in turn."""
        now, places = self._clock.now_s(), None
        if not self._rates.is_whole_due(now):
            names = [name for name in self._rates.due_files(now) if name in self._places]
            known = _states(self._places[name].source for name in names)
            new = self._rates.find_new(now, lambda: self._format.sources(self._run))
            if new is not None and len(known) == len(names):  # otherwise only a whole poll can tell
                places = known | _states(new.values())
        self.looked_at_all = places is None
        if places is None:
            places = self._rates.look_at_all(now, lambda: map(self._marked, self._format.sources(self._run)))
        if self._first_look_s is None:
            self._places = places  # scores are looked up by the places of the run
        places |= _states(self._scores())
        before: Mapping[str, SourceState] = {} if self._first_look_s is None else self._places
        asked = before if self.looked_at_all else self._scored & before.keys()
        seen = Seen({n for n, p in places.items() if before.get(n) != p}, set(asked) - set(places))
        if seen.changed or seen.lost or self._first_look_s is None:
            self._take(seen, places if self.looked_at_all else {**before, **places})
        return seen

    def _take(self, seen: Seen, places: Mapping[str, SourceState]) -> None:
        now = self._clock.now_s()
        places = {name: place for name, place in places.items() if name not in seen.lost}
        written = {name for name in seen.changed if not places[name].source.scores}
        if written:
            self.rhythm.learn_gap(self.changed_s() or 0.0)
            before = [] if self._newest_ns is None else [self._newest_ns]
            times = [ns for name in written if (ns := places[name].state.mtime_ns) >= min(before, default=ns)]
            self.rhythm.learn_writes(ns / 1e9 for ns in (*before, *times))
        if self.has_looked:
            self._rates.note_changes(written)
        self.changed_at |= dict.fromkeys(written, now if self.has_looked else 0.0)
        self._places = places
        self._scored = {name for name, place in places.items() if place.source.scores}
        own = (place.state.mtime_ns for place in places.values() if not place.source.scores)
        self._newest_ns = max(own, default=None)
        if self._first_look_s is None:
            self._first_look_s = now

    @property
    def was_rare_poll(self) -> bool:
        """True if the last poll looked at all files, and most polls do not."""
        return self.looked_at_all and self._rates.may_skip

    @property
    def has_looked(self) -> bool:
        """True after the first poll."""
        return self._first_look_s is not None

    def all(self) -> Mapping[str, SourceState]:
        """All sources, as of the last poll."""
        return self._places

    def get(self, name: str) -> Source | None:
        """The source with this name."""
        place = self._places.get(name)
        return place.source if place else None

    def files(self) -> list[RunFile]:
        """The files that hold samples, in their current state."""
        return [
            RunFile(
                name=name,
                size_bytes=size_of(place.source.path) if place.source.stream else place.state.size,
                changed_s=place.state.mtime_ns / 1e9,
                what="annotations" if place.source.annotates else "samples",
            )
            for name, place in sorted(self._places.items())
            if not place.source.scores
        ]

    def size_bytes(self) -> int:
        """The total size of all files."""
        return sum(place.state.size for place in self._places.values())

    def changed_s(self) -> float | None:
        """Seconds since a poll saw a source change; before any change, since the time of the newest file.

        If that time is later than the first poll, because the clock of a different machine is ahead, the first poll
        counts.
        """
        newest = self._newest_ns
        if newest is None or self._first_look_s is None:
            return None
        if seen := max(list(self.changed_at.values()), default=0.0):
            return self._clock.now_s() - seen
        return max(self._clock.date_s() - newest / 1e9, self._clock.now_s() - self._first_look_s)

    @property
    def has_grown(self) -> bool:
        """True once a poll saw a source change or appear: the time of a file may be that of a copy."""
        return any(list(self.changed_at.values()))

    def is_quiet(self, place: SourceState) -> bool:
        """True if a source has not grown for a while, by the clock of this process: that of the files may differ."""
        return self._clock.now_s() - self.changed_at.get(place.source.name, 0.0) > QUIET_S

    @property
    def are_quiet(self) -> bool:
        """True if no source has grown for a while."""
        return self._clock.now_s() - max(list(self.changed_at.values()), default=0.0) > QUIET_S

    def length(self, place: SourceState) -> int | None:
        """The length of a compressed source's stream; None if only reading it would show the length."""
        state, length = self._lengths.get(place.source.name, (None, None))
        if state != place.state:
            length = None
            with suppress(OSError):
                length = known_length(place.source.location)
            self._lengths[place.source.name] = place.state, length
        return length


POLL_S = 0.25
"""A line that a trainer appends must show within a second; polling works on network file systems, inotify does not."""

POLL_SHARE = 4
"""After a poll that takes t, the next waits for at least this many t: huge directories are polled less often."""

MAX_REST_S = 10.0
"""The longest rest between two polls that follows from their duration."""

BUSY_POLL_S = 0.5
"""While much is being indexed, the sources are polled again this often, so that new samples come first."""

WATCHED_S = 60.0
"""A run is polled often for this long after a question about it, or after it grew."""

OLD_S = 3600.0
OLD_REST_S = 5.0
"""The interval for a run that nobody has written to for an hour, nor since it was opened."""


class PollTimes:
    """When one run was polled, and when it is due again."""

    def __init__(self, sources: Sources, scheduler: RunScheduler, clock: Clock) -> None:
        self._sources, self._scheduler, self._clock = sources, scheduler, clock
        self.started_s, self.asked_s = math.inf, -math.inf
        """The start of the work on the run, and the last question about it."""
        self._polled_s = self._took_s = self._newest_took_s = 0.0

    def note_poll(self, began_s: float) -> None:
        """Note the end of a poll."""
        self._polled_s = self._clock.now_s()
        if not self._sources.was_rare_poll:
            before_s, self._newest_took_s = self._newest_took_s, self._polled_s - began_s
            self._took_s = min(before_s, self._newest_took_s)  # a single poll may wait for imports, or for a busy disk

    @property
    def is_due(self) -> bool:
        """True once the sources should be polled again while much is being indexed."""
        return self._clock.now_s() - self._polled_s > self._rest_after_poll(BUSY_POLL_S)

    @property
    def rest_s(self) -> float:
        """The rest between two polls of a run that is up to date."""
        was_watched = self._clock.now_s() - self.started_s > WATCHED_S
        if was_watched and (self._sources.changed_s() or 0.0) > OLD_S:  # nobody seems to write to it
            return self._rest_after_poll(max(OLD_REST_S, self._scheduler.old_crowd_s))
        is_asked = self._clock.now_s() - self.asked_s < WATCHED_S
        is_growing = self._sources.has_grown and (self._sources.changed_s() or 0.0) < WATCHED_S
        is_watched = is_asked or is_growing
        return self._rest_after_poll(POLL_S if is_watched else max(POLL_S, self._scheduler.crowd_s))

    def _rest_after_poll(self, least_s: float) -> float:
        return max(least_s, min(POLL_SHARE * self._took_s, MAX_REST_S))


class RunFacts:
    """The facts about a run that its files hold beside samples, as of the last poll."""

    def __init__(self, form: Format, rhythm: Rhythm, clock: Clock) -> None:
        self._format, self._rhythm, self._clock = form, rhythm, clock
        self.step_states: dict[tuple[str, int], str] = {}
        """The states of unfinished steps by split and step."""
        self.trouble = ""
        """Why an object store cannot be used at this moment; empty if it can."""
        self.ending = ""
        """The text of the run's own marker of its end: see `Format.ending`."""
        self._ending_s = self._times_s = -math.inf

    def look(self, info: RunInfo, *, is_idle: bool) -> tuple[bool, bool]:
        """Read the facts that are due. Returns whether states or trouble changed, and whether the ending did."""
        now_s, before = self._clock.now_s(), (self.step_states, self.trouble, self.ending)
        step_states, trouble = self._format.step_states(info), trouble_at(info.root)
        if now_s - self._ending_s >= ENDING_S:
            self._ending_s = now_s  # first, so that the next poll goes on even if the format raises
            self.ending = self._format.ending(info)
        self.step_states, self.trouble = step_states, trouble
        is_first = self._times_s == -math.inf
        if now_s - self._times_s >= TIMES_S and (is_first or not is_idle):
            self._times_s = now_s
            self._rhythm.learn_writes(self._format.times_s(info))
        return before[:2] != (self.step_states, self.trouble), before[2] != self.ending


def newest_first(places: Iterable[SourceState]) -> list[SourceState]:
    """Sources in the order of indexing."""
    return sorted(places, key=lambda place: place.age, reverse=True)


def _states(sources: Iterable[Source]) -> dict[str, SourceState]:
    """The sources whose files are there, by name, with their states."""
    states = ((source, state_of_source(source)) for source in sources)
    return {source.name: SourceState(source, state) for source, state in states if state is not None}
