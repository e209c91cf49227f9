"""Writes texts and derived metrics behind the numbers of a run, newest step first, as far as there is room."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from pathlib import Path

from rolloupe.index.catalog import Catalog
from rolloupe.index.execution import BackfillJob, Executor, InlineExecutor, JobReply
from rolloupe.index.segments.derived_values import DerivedMeta, about_of, derived_of, read_derived
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.kinds import BACKFILLED
from rolloupe.index.segments.text_budget import Budget, Text
from rolloupe.index.segments.texts import text_of
from rolloupe.index.snapshot import Segment, age_of
from rolloupe.model import Problem, RunInfo, Source

WAIT_S = 0.5
SHOW_S = 1.0
"""So often what was derived is shown: each time answers change, and lists are made anew."""

INLINE_BYTES = 8 * 2**20
"""So much is written in this process: small runs start no other."""


class Backfill:
    """Writes what is missing. Used by the thread of one `OpenRun` alone."""

    def __init__(self, catalog: Catalog, info: RunInfo, executor: Executor, budget: Budget) -> None:
        self._catalog = catalog
        self._info = info
        self._executor = InlineExecutor(INLINE_BYTES, executor)
        self._budget = budget
        self._failed: dict[Path, Problem] = {}
        """Why the kinds of some segments could not be written, in the order in which that was tried."""
        self._probe: Path | None = None
        """The failed segment that is tried again."""
        self._done: dict[Path, bool] = {}
        """The segments that are not looked at any more; True where all was there."""
        self._writing: dict[futures.Future[JobReply], tuple[Segment, bool]] = {}
        """What is being written, and whether that is all that the segment lacks."""
        self._derived: list[tuple[Segment, DerivedMeta]] = []
        """What was derived and is not shown yet."""
        self._shown_s = 0.0

    def failures(self) -> list[Problem]:
        """The segments that could not be completed, and why."""
        return list(self._failed.values())

    def retry(self) -> bool:
        """Try the segment that failed longest ago again; once it is complete, the others follow.

        On a disk that is still full, this costs the scan of one part, however many failed. Returns whether any did.
        """
        self._probe = next(iter(self._failed), None)
        if self._probe is not None:
            self.forget([self._probe])
        return self._probe is not None

    def forget(self, paths: Iterable[Path]) -> None:
        """Look at these segments again."""
        for path in paths:
            self._done.pop(path, None)

    def forget_all(self) -> None:
        """Look at all segments again, as if for the first time."""
        self._done.clear()
        self._failed.clear()
        self._derived.clear()

    def lost(self, paths: Iterable[Path]) -> None:
        """Look again at those of these segments that were complete: for others there was no room."""
        self.forget([path for path in paths if self._done.get(path)])

    def pending(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments that lack a kind, newest step first. What others have derived is shown."""
        segments = list(segments)
        if self._failed:
            held = {segment.path for segment in segments}
            self._failed = {path: failure for path, failure in self._failed.items() if path in held}
        lacking = [s for s in segments if s.path not in self._done and not self._is_done(s)]
        self.show()
        return sorted(lacking, key=age_of, reverse=True)

    def write(
        self,
        pending: Iterable[Segment],
        held: Iterable[Segment],
        sources: Mapping[str, Source],
        go_on: Callable[[], bool],
    ) -> bool:
        """Write until all is there or there is no room; False where `go_on` ended it before."""
        whole = True
        for segment in pending:
            source = sources.get(segment.meta.source)
            whole = go_on()
            if not whole:
                break
            missing = missing_of(segment)
            if not missing:  # another viewer was quicker
                self._is_done(segment)
                continue
            self._done[segment.path] = False
            kinds = self._writable(segment, missing, held)
            if source is None or not kinds:
                continue
            meta = segment.meta
            cost = meta.stop - meta.start + source.texts_bytes
            job = BackfillJob(
                folder=str(self._catalog.folder), run=self._info, source=source, meta=meta, kinds=kinds, cost=cost
            )
            self._writing[self._executor.submit(job)] = segment, len(kinds) == len(missing)
            self._land(0)
            while len(self._writing) > self._executor.count and go_on():
                self._land(WAIT_S)
        while self._writing and go_on():
            self._land(WAIT_S)
        self.show()
        return whole

    def show(self) -> None:
        """Have answers know what was derived since."""
        if self._derived:
            self._catalog.derive(self._derived)
            self._derived = []
        self._shown_s = time.monotonic()

    def _writable(self, segment: Segment, missing: Iterable[SegmentKind], held: Iterable[Segment]) -> list[str]:
        """The kinds among those that a segment lacks for which there is room."""
        return [
            kind.name
            for kind in missing
            if not kind.is_budgeted or self._budget.has_room(lambda: map(_text, held), age_of(segment))
        ]

    def _land(self, timeout_s: float) -> None:
        for future in futures.wait(self._writing, timeout_s, futures.FIRST_COMPLETED).done:
            segment, is_whole = self._writing.pop(future)
            self._wrote(segment, JobReply() if future.cancelled() else future.result(), is_whole=is_whole)
        if self._derived and time.monotonic() - self._shown_s > SHOW_S:
            self.show()

    def _wrote(self, segment: Segment, reply: JobReply, *, is_whole: bool) -> None:
        path, meta = segment.path, segment.meta
        for file in (text_of(path), derived_of(path), about_of(path)):
            self._budget.wrote(file)
        self._done[path] = is_whole and reply.meta is not None
        self._failed.pop(path, None)
        if reply.derived is not None:
            self._derived.append((segment, reply.derived))
        if reply.error:
            self._failed[path] = Problem(source=meta.source, reason=f"texts of part {meta.part}: {reply.error}")
        elif path == self._probe:
            self.forget(self._failed)

    def _is_done(self, segment: Segment) -> bool:
        path, meta = segment.path, segment.meta
        if meta.rows and segment.derived is None and (derived := read_derived(path, meta)) is not None:
            self._derived.append((segment, derived))
        is_done = not meta.rows or not missing_of(segment)
        if is_done:
            self._done[path] = True
            self._failed.pop(path, None)
        return is_done


def missing_of(segment: Segment) -> list[SegmentKind]:
    """The kinds that a segment lacks."""
    path, meta = segment.path, segment.meta
    return [kind for kind in BACKFILLED if kind.backfilled and not kind.backfilled.is_written(path, meta)]


def _text(segment: Segment) -> Text:
    return Text(age_of(segment), text_of(segment.path))
