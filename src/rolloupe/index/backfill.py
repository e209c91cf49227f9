"""Writes the kinds of segments that follow the numbers, newest step first, while there is room: texts and derived
metrics, tokens, and features.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from rolloupe.formats import by_name
from rolloupe.index.catalog import Catalog
from rolloupe.index.execution import Executor, JobReply, most_submitted
from rolloupe.index.features import share_of
from rolloupe.index.fingerprint import size_of
from rolloupe.index.run_scheduler import CLOCK, Clock
from rolloupe.index.segments.derived_values import about_of, derived_of, read_derived
from rolloupe.index.segments.kind import BackfillJob, DerivedMeta, ScanShare, SegmentKind, Stage
from rolloupe.index.segments.kinds import KINDS, Budget
from rolloupe.index.snapshot import Segment, age_of
from rolloupe.index.token_stats.annotations import TokenAnnotations
from rolloupe.model import Problem, RunInfo, RunLoss, Source

WAIT_S = 0.5
PUBLISH_S = 1.0
"""The interval at which new derived metrics are published: each time, answers change and viewers load lists again."""

BYTES_A_VALUE = 8


class Backfill:
    """Writes the missing kinds of one pass. Only the thread of one `OpenRun` uses it."""

    def __init__(
        self, catalog: Catalog, info: RunInfo, executor: Executor, budget: Budget, stage: Stage, clock: Clock = CLOCK
    ) -> None:
        self._catalog, self._info, self._executor, self._budget = catalog, info, executor, budget
        self.stage: Stage = stage
        self._clock = clock
        self._annotations = TokenAnnotations()
        self._loss: RunLoss | None = None
        self._share = ScanShare()
        self._failed: dict[Path, Problem] = {}
        """The reasons why kinds of segments could not be written, in the order of the attempts."""
        self._probe: Path | None = None
        """The failed segment to try again."""
        self._done: dict[Path, bool] = {}
        """The segments that need no further look; True if they are complete."""
        self._writing: dict[futures.Future[JobReply], tuple[Segment, bool]] = {}
        """The segments being written, and whether that completes them."""
        self._derived: list[tuple[Segment, DerivedMeta]] = []
        """Derived metrics to publish."""
        self._published_s = 0.0

    def failures(self) -> list[Problem]:
        """The reasons why some segments could not be completed."""
        return list(self._failed.values())

    def retry(self) -> bool:
        """Try the segment again that failed first: one is enough on a full disk. Returns False if none failed."""
        self._probe = next(iter(self._failed), None)
        if self._probe is not None:
            self._done.pop(self._probe, None)
        return self._probe is not None

    def forget(self, paths: Iterable[Path], *, complete_only: bool = False) -> None:
        """Look at these segments again; with `complete_only`, not at those that had no room."""
        for path in paths:
            if self._done.get(path) or not complete_only:
                self._done.pop(path, None)

    def pending(self, segments: Iterable[Segment], has_ended: Callable[[], bool]) -> list[Segment]:
        """The segments that lack a kind, newest step first. Publishes metrics that other viewers derived.

        Looks at no further segment once `has_ended`: a command that has its answer does not wait for thousands.
        """
        segments = list(segments)
        if self.stage == "tokens":
            self.forget(self._annotations.update(segments))
            if self._loss is None and any(segment.path not in self._done for segment in segments):
                with contextlib.suppress(Exception):  # a defect in a format must not stop the indexing
                    self._loss = by_name(self._info.format).loss(self._info)
                if self._loss is not None:  # a trainer may write its settings after the first samples
                    self._done.clear()
        if self.stage == "features":
            share = share_of(stats for segment in segments for stats in segment.meta.step_stats)
            if share != self._share:  # the share of every segment shrinks as the run grows
                self._share = share
                self._done.clear()
        if self._failed:
            paths = {segment.path for segment in segments}
            self._failed = {path: failure for path, failure in self._failed.items() if path in paths}
        lacking = [s for s in segments if not (s.path in self._done or has_ended() or self._is_done(s))]
        self.publish()
        return sorted(lacking, key=age_of, reverse=True)

    def write(self, pending: Iterable[Segment], sources: Mapping[str, Source], go_on: Callable[[], bool]) -> None:
        """Write the kinds that pending segments lack, while there is room and `go_on` returns True."""
        folder = self._catalog.folder
        for segment in pending:
            source = sources.get(segment.meta.source)
            if not go_on():
                break
            missing = self._missing(segment)
            if not missing:  # another viewer has written them
                self._is_done(segment)
                continue
            self._done[segment.path] = False
            kinds = [
                kind.name
                for kind in missing
                if not kind.budgeted or self._budget.has_room(folder, self._budgeted, age_of(segment))
            ]
            if source is None or not kinds:
                continue
            job = self._job(segment, source, kinds)
            self._writing[self._executor.submit(job)] = segment, len(kinds) == len(missing)
            self._land(0)
            while len(self._writing) >= most_submitted(self._executor, self._info.root) and go_on():
                self._land(WAIT_S)
        while self._writing and go_on():
            self._land(WAIT_S)
        self.publish()

    def _budgeted(self) -> Iterator[tuple[int, Path]]:
        """The files of all segments that may be deleted, with their ages."""
        for segment in self._catalog.segments():
            for path_of in chain.from_iterable(kind.budgeted for kind in KINDS):
                yield age_of(segment), path_of(segment.path)

    def _missing(self, segment: Segment) -> list[SegmentKind]:
        """The kinds of this pass that a segment lacks."""
        inputs = self._annotations.stamp(segment.path), self._loss, self._share
        own = (kind for kind in KINDS if kind.stage == self.stage)
        return [kind for kind in own if not kind.is_written(segment.path, segment.meta, *inputs)]

    def _job(self, segment: Segment, source: Source, kinds: Sequence[str]) -> BackfillJob:
        meta, values = segment.meta, 0  # the number of values of token series, which may lie in other files
        if self.stage == "tokens":
            values = sum(series.count for stats in meta.step_stats for series in stats.series.values())
        return BackfillJob(
            folder=str(self._catalog.folder),
            run=self._info,
            source=source,
            meta=replace(meta, step_stats=[]),  # a worker needs none
            kinds=kinds,
            annotations=self._annotations.of(segment.path),
            loss=self._loss,
            share=self._share,
            cost=max(meta.stop - meta.start + source.texts_bytes, BYTES_A_VALUE * values),
        )

    def publish(self) -> None:
        """Add new derived metrics to the catalog, and so to answers."""
        if self._derived:
            self._catalog.derive(self._derived)
            self._derived = []
        self._published_s = self._clock.now_s()

    def _land(self, timeout_s: float) -> None:
        for future in futures.wait(self._writing, timeout_s, futures.FIRST_COMPLETED).done:
            segment, is_whole = self._writing.pop(future)
            self._note_written(segment, future.result(), is_whole=is_whole)
        if self._derived and self._clock.now_s() - self._published_s > PUBLISH_S:
            self.publish()

    def _note_written(self, segment: Segment, reply: JobReply, *, is_whole: bool) -> None:
        path, meta = segment.path, segment.meta
        written = chain.from_iterable(kind.budgeted for kind in KINDS if kind.stage == self.stage)
        for path_of in (*written, derived_of, about_of):
            self._budget.count(size_of(path_of(path)))
        self._done[path] = is_whole and reply.meta is not None
        self._failed.pop(path, None)
        if reply.derived is not None:
            self._derived.append((segment, reply.derived))
        if reply.error:
            what = self.stage if reply.derived is None else "derived metrics"
            self._failed[path] = Problem(source=meta.source, reason=f"{what} of part {meta.part}: {reply.error}")
        elif path == self._probe:
            self.forget(self._failed)

    def _is_done(self, segment: Segment) -> bool:
        path, meta = segment.path, segment.meta
        known = segment.derived
        is_new = known is None or (self.stage == "tokens" and known.tokens is None)
        derived = read_derived(path, meta) if meta.rows and is_new else None
        if derived is not None and (known is None or replace(derived, step_stats=[]) != known):
            self._derived.append((segment, derived))
        is_done = not meta.rows or not self._missing(segment)
        if is_done:
            self._done[path] = True
            self._failed.pop(path, None)
        return is_done
