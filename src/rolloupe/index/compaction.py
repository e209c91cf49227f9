"""Plans the packs of a run, and writes missing ones.

The plan follows from the segments alone. After some of them change, the old pack serves the others until a new one is
written.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from itertools import groupby
from operator import is_
from pathlib import Path

from rolloupe.index.catalog import SUPERSEDED_S, Catalog
from rolloupe.index.execution import Executor, PackJob
from rolloupe.index.fingerprint import size_of, state_of
from rolloupe.index.run_scheduler import CLOCK, Clock
from rolloupe.index.segments.kind import SegmentMeta
from rolloupe.index.segments.kinds import Budget
from rolloupe.index.segments.pack import FOLDER, derived_path_of, members_of, path_of
from rolloupe.index.snapshot import Pack, Segment, age_of

SIZES = (256, 128, 64)
"""The possible numbers of segments in a pack. Plans start at the oldest: growth changes only the newest packs."""

FEW = (32, 16)
"""The possible numbers of large segments, which must fill an eighth of a pack."""

MAX_ROWS = 131_072
MAX_CELLS = 4_000_000
"""Rows times columns of a pack, which is built in memory."""

SMALL_ROWS = MAX_ROWS // FEW[-1]
"""Segments with more rows deserve their own file."""

MORE_COLUMNS = 64
"""The most columns that a pack may have beyond its widest member."""

YOUNG_S = 60.0
"""Sources that changed more recently may change again: their segments are packed later."""

PLAN_S = 5.0
"""The shortest interval between plans."""

TIDY_S = 60.0
WAIT_S = 0.25


class Packs:
    """Writes missing packs, and adds packs to the catalog. Only the thread of one `OpenRun` uses it."""

    def __init__(self, catalog: Catalog, executor: Executor, budget: Budget, clock: Clock = CLOCK) -> None:
        self._catalog, self._executor, self._budget, self._clock = catalog, executor, budget, clock
        self._folder = catalog.folder / FOLDER
        self._planned: dict[Path, Sequence[Segment]] = {}
        self._planned_for: list[SegmentMeta] = []
        self._planned_s = self._tidied_s = float("-inf")
        self._used: dict[Path, Pack] = {}
        self._tried: set[Path] = set()

    def take_up(self, changed_at: Mapping[str, float]) -> None:
        """Plan the packs, and use those that exist. `changed_at` is the time of each source's last change, 0 for long
        ago.
        """
        now = self._clock.now_s()
        if now - self._planned_s < PLAN_S:
            return
        self._planned_s = now
        young = {name for name, at in changed_at.items() if at and now - at < YOUNG_S}
        segments = [s for s in self._catalog.segments() if s.meta.source not in young]
        metas = [s.meta for s in segments]
        if len(metas) == len(self._planned_for) and all(map(is_, metas, self._planned_for)):
            return
        self._planned_for = metas
        self._planned = {path_of(self._catalog.folder, members): members for members in plan(segments)}
        self._used = {path: pack for path, pack in self._used.items() if path in self._planned}
        self._tried.clear()
        for path, members in self._planned.items():
            pack = self._used.get(path)
            if pack is None or not pack.is_good:
                self._use(path)
            elif any(segment.pack is not pack for segment in members):
                self._catalog.pack(members, pack)

    def pending(self) -> list[Path]:
        """The missing packs, newest step first."""
        good = {path for path, pack in self._used.items() if pack.is_good}
        return [path for path in reversed(self._planned) if path not in good and path not in self._tried]

    def write(self, go_on: Callable[[], bool]) -> None:
        """Write missing packs, one at a time, while there is room, until `go_on` returns False."""
        now_s = self._clock.now_s()
        if all(self._write(path, None, go_on) for path in self.pending()) and now_s - self._tidied_s > TIDY_S:
            self._tidied_s = now_s
            self._discard()

    def write_derived(self, go_on: Callable[[], bool]) -> None:
        """Write the derived metrics of the packs in use whose segments all have some."""
        packs = {id(s.pack): s.pack for s in self._catalog.segments() if s.pack is not None and s.pack.is_good}
        for pack in packs.values():
            planned = self._planned.get(pack.path, ())
            now = [self._catalog.segment(segment.key) for segment in planned]
            members = [s for s, before in zip(now, planned, strict=True) if s is not None and s.meta is before.meta]
            if not members or len(members) < len(planned):  # some were replaced
                continue
            derived = derived_path_of(pack.path, members)
            is_due = derived is not None and pack.derived != derived and derived not in self._tried
            if is_due and not self._write(pack.path, derived, go_on):
                return

    def _write(self, path: Path, derived: Path | None, go_on: Callable[[], bool]) -> bool:
        """Write a pack, or the derived metrics of one. Returns False to end the writing."""
        if not go_on():
            return False
        target = derived or path
        if self._use(path, derived):  # another viewer has written it
            return True
        if not self._budget.has_room(self._catalog.folder, tuple, 0):
            self._tried.add(target)
            return True
        job = PackJob(path=str(target), members=members_of(self._planned[path]), is_derived=derived is not None)
        writing = self._executor.submit(job)
        while not futures.wait([writing], WAIT_S).done:
            if not go_on():
                return False
        if not writing.result().error and self._use(path, derived):
            self._budget.count(size_of(target))
        else:
            self._tried.add(target)
        return True

    def _use(self, path: Path, derived: Path | None = None) -> bool:
        if state_of(derived or path) is None:
            return False
        members = self._planned[path]
        self._used[path] = Pack(path, len(members), derived=derived)
        self._catalog.pack(members, self._used[path])
        return True

    def _discard(self) -> None:
        """Remove files that have long been unused: superseded packs, and leftovers of killed processes."""
        packs = {id(s.pack): s.pack for s in self._catalog.segments() if s.pack}.values()
        in_use = {path for pack in packs for path in (pack.path, pack.derived)}
        for path in self._folder.glob("*"):
            state = state_of(path)
            old = state is not None and time.time() - state.mtime_ns / 1e9 >= SUPERSEDED_S
            if old and path not in self._planned and path not in in_use:
                with contextlib.suppress(OSError):
                    path.unlink()


def plan(segments: Iterable[Segment]) -> Iterator[Sequence[Segment]]:
    """The members of each pack: neighbours in step order, with the same splits."""
    small = [s for s in segments if 0 < s.meta.rows <= SMALL_ROWS]
    splits = {s.key: sorted({stats.split for stats in s.meta.step_stats}) for s in small}
    in_order = sorted(small, key=lambda s: (splits[s.key], age_of(s), s.meta.source, s.meta.part))
    for _, members in groupby(in_order, key=lambda s: splits[s.key]):
        yield from _cut(list(members))


def _cut(segments: Sequence[Segment]) -> Iterator[Sequence[Segment]]:
    at, least = 0, min(*SIZES, *FEW)
    while (left := len(segments) - at) >= least:
        some = [(size, 0.0) for size in SIZES] + [(size, 0.125) for size in FEW]
        fits = (size for size, low in some if size <= left and low <= _filled(segments[at : at + size]) <= 1)
        size = next(fits, None)
        if size is not None:
            yield segments[at : at + size]
        at += size or least


def _filled(members: Sequence[Segment]) -> float:
    """The share of a pack that its members fill, above 1 if they do not fit."""
    metrics, tags = {tuple(s.meta.metrics) for s in members}, {tuple(s.meta.tags) for s in members}
    columns = len({name for names in metrics for name in names}) + len({name for names in tags for name in names})
    widest = max(len(s.meta.metrics) + len(s.meta.tags) for s in members)
    rows = sum(s.meta.rows for s in members)
    return max(rows / MAX_ROWS, rows * columns / MAX_CELLS) if columns <= widest + MORE_COLUMNS else float("inf")
