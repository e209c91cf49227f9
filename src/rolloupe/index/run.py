"""An open run: what its index holds, and the start and the end of the work on it."""

import copy
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rolloupe.index.run_indexer import IndexProgress, RunIndexer
from rolloupe.index.run_scheduler import ScheduledRun
from rolloupe.index.scans import IndexServices
from rolloupe.index.segments.derived_values import derived_of
from rolloupe.index.segments.launches import older_steps
from rolloupe.index.segments.segment import discard, has_columns, is_readable
from rolloupe.index.snapshot import Piece, Snapshot
from rolloupe.index.sources import POLL_S
from rolloupe.model import Problem, RunInfo, Source

if TYPE_CHECKING:
    from rolloupe.index.shared_index import Mirror

CLOSE_S = 10.0
"""How long to wait for a turn to end."""


class OpenRun:
    """One run of a library. `scores` lists the files with a person's own scores of it."""

    def __init__(
        self,
        run_id: str,
        info: RunInfo,
        folder: Path,
        services: IndexServices,
        on_change: Callable[["OpenRun"], None],
        scores: Callable[["OpenRun"], Sequence[Source]],
        mirror: "Mirror | None" = None,
    ) -> None:
        self.id = run_id
        self.indexer = RunIndexer(info, folder, services, partial(scores, self), partial(on_change, self), mirror)
        self.format = self.indexer.format
        self.catalog, self.sources, self.facts = self.indexer.catalog, self.indexer.sources, self.indexer.facts
        self._scheduler, self._clock = services.scheduler, services.clock
        self.looked_at = services.looked_at
        """Set it once a person sees a sample: see `IndexWork`."""
        self._scheduled: ScheduledRun | None = None
        self._starting, self._repairing = threading.Lock(), threading.Lock()
        self.own_scores: tuple[Piece, str] | None = None

    def with_scores(self, scores: Piece, stamp: str) -> "OpenRun":
        """Return the run for the questions of one person, with scores of their own; `stamp` changes with these."""
        run = copy.copy(self)
        run.own_scores = scores, stamp
        return run

    @property
    def info(self) -> RunInfo:
        """The run as it was found."""
        return self.indexer.info

    def rename(self, run_id: str, info: RunInfo) -> None:
        """Take the id and the facts of a later search: another run may have the same name."""
        self.id = run_id
        self.indexer.info = self.indexer.scans.info = info

    # The index

    @property
    def version(self) -> str:
        """A string that changes whenever the answer to some query may change."""
        return self.catalog.version if self.own_scores is None else f"{self.catalog.version}+{self.own_scores[1]}"

    def snapshot(self) -> Snapshot:
        """The current index."""
        snapshot = self.catalog.snapshot()
        return snapshot if self.own_scores is None else snapshot.with_scores(*self.own_scores)

    def progress(self) -> IndexProgress:
        """The progress of the index; its phase is `scalars`, `text` or `ready`."""
        return self.indexer.progress

    def problems(self) -> list[Problem]:
        """The records that could not be read, and the parts that could not be scanned."""
        return [*self.failures(texts=True), *self.indexer.trouble(), *self.snapshot().problems]

    def problem_count(self) -> int:
        """The number of problems, including those that segments count but do not list."""
        return len(self.failures(texts=True)) + len(self.indexer.trouble()) + self.snapshot().problem_count

    def failures(self, *, texts: bool = False) -> list[Problem]:
        """The parts that could not be indexed; with `texts`, also those that lack texts or derived metrics."""
        return self.indexer.failures(texts=texts)

    @property
    def unsent(self) -> str:
        """Why the shared index lacks files that were indexed here; empty if it has them all."""
        return self.indexer.mirror.unsent if self.indexer.mirror else ""

    @property
    def is_shard(self) -> bool:
        """True while only a shard of the run is indexed: of other shards this process knows nothing."""
        return self.indexer.scans.own.is_shard

    # The files

    def launch_doubts(self) -> list[str]:
        """Where the run may have been resumed over its own files: a sentence for each doubtful source."""
        doubts = self.indexer.scans.launches.doubts()
        times: dict[str, dict[int, float]] = {}
        for source, state in self.sources.all().values():
            if source.step is not None and not (source.annotates or source.stream):
                steps = times.setdefault(source.split or os.path.dirname(source.name), {})
                steps[source.step] = max(steps.get(source.step, 0.0), state.mtime_ns / 1e9)
        for of, steps in sorted(times.items()):
            if left := older_steps(steps):
                doubts.append(
                    f"the files of {of or 'the run'} from step {left[0]} to {left[-1]} are older than those before "
                    "that step: if the run was resumed, an earlier launch left them. Next: move them out of the run"
                )
        return doubts

    # The work

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the scalars of all records present at the start are indexed."""
        return self.indexer.ready.wait(timeout_s)

    def wait_all(self, timeout_s: float | None = None) -> bool:
        """Wait until the texts are indexed as well; if the run is not followed, that begins now at the latest."""
        if not (self.indexer.follows or self.looked_at.is_set()):
            self.looked_at.set()
            self.go_on()
        return self.indexer.settled.wait(timeout_s)

    def start(self, *, follow: bool) -> None:
        """Begin to index, unless it has begun; with `follow`, keep following the run."""
        with self._starting:
            if self._scheduled is None and not self.indexer.stopped.is_set():
                self.indexer.follows = follow
                self.indexer.times.started_s = self._clock.now_s()
                self._scheduled = self._scheduler.add(self.indexer.turn)

    @property
    def is_started(self) -> bool:
        """True once the work on its index has begun."""
        return self._scheduled is not None

    def stop(self) -> None:
        """Ask the work to end soon."""
        self.indexer.stopped.set()
        if self._scheduled is not None:
            self._scheduler.end(self._scheduled)

    def close(self) -> None:
        """Stop the work, and wait for its end; written files stay."""
        self.stop()
        if self._scheduled is not None:
            self._scheduled.over.wait(CLOSE_S)
        self.indexer.ready.set()
        self.indexer.settled.set()

    def note_question(self) -> None:
        """Note that somebody waits for this run: for a while, it is polled as if it were the only one.

        Its first turn comes before those of others. A run that was not started is followed from now on.
        """
        if self._scheduled is None:
            self.start(follow=True)
        self.indexer.times.asked_s = self._clock.now_s()
        if self._scheduler.crowd_s > POLL_S or not self.indexer.ready.is_set():
            self.go_on()

    def go_on(self) -> None:
        """Have the next turn now."""
        if self._scheduled is not None:
            self._scheduler.call(self._scheduled)

    def heal(self, paths: Iterable[Path]) -> bool:
        """Rebuild the segments among these that are missing or damaged. Returns whether there were any."""
        paths = list(paths)
        damaged = [path for path in paths if not (is_readable(path) and has_columns(path))]
        for path in damaged:
            discard(path)
        underived = self.catalog.underive([path for path in paths if not is_readable(derived_of(path))])
        self._request(partial(self.indexer.write_again, {*damaged}, {*underived}))
        is_over = self._scheduled is not None and self._scheduled.over.is_set()
        if damaged and is_over and not self.indexer.stopped.is_set():
            with self._repairing:  # no other thread follows the run
                self.indexer.repair()
        return bool(damaged or underived)

    def note_missing_texts(self, path: Path) -> None:
        """Note a segment whose texts cannot be read: if they were written, they are written again."""
        self.looked_at.set()
        self._request(partial(self.indexer.write_again, (), {path}))

    def _request(self, work: Callable[[], None]) -> None:
        """Have the next turn do some work first."""
        self.indexer.requests.append(work)
        self.go_on()
