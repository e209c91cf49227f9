"""The texts of a run's segments: written behind the scalars, newest step first, as far as there is room for them."""

from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from pathlib import Path

from rolloupe.index.execution.processes import Job, ScanReply, Workers, perform
from rolloupe.index.segments.segment import TEXT
from rolloupe.index.segments.text_budget import Budget, Text
from rolloupe.index.snapshot import Segment
from rolloupe.model import Problem, RunInfo, Source

WAIT_S = 0.5
INLINE_BYTES = 8 * 2**20
"""So much is written in this process: small runs start no other."""


class TextSegments:
    """Writes what is missing. Used by the thread of one `OpenRun` alone."""

    def __init__(self, folder: Path, info: RunInfo, workers: Workers, budget: Budget) -> None:
        self._folder = folder
        self._info = info
        self._workers = workers
        self._budget = budget
        self._inline_left = INLINE_BYTES
        self._failed: dict[Path, Problem] = {}
        """Why the texts of some segments could not be written, in the order in which that was tried."""
        self._probe: Path | None = None
        """The failed segment that is tried again."""
        self._done: dict[Path, bool] = {}
        """The segments that are not looked at any more; True where their texts were there."""
        self._writing: dict[futures.Future[ScanReply], Segment] = {}

    def failures(self) -> list[Problem]:
        """The segments whose texts could not be written, and why."""
        return list(self._failed.values())

    def retry(self) -> bool:
        """Try the segment that failed longest ago again; once its texts are written, the others follow.

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

    def lost(self, paths: Iterable[Path]) -> None:
        """Look again at those of these segments whose texts were there: for others there was no room."""
        self.forget([path for path in paths if self._done.get(path)])

    def due(self, segments: Iterable[Segment]) -> list[Segment]:
        """The segments without texts, newest step first."""
        segments = list(segments)
        if self._failed:
            held = {segment.path for segment in segments}
            self._failed = {path: failure for path, failure in self._failed.items() if path in held}
        lacking = [s for s in segments if s.path not in self._done and not self._is_done(s)]
        return sorted(lacking, key=age_of, reverse=True)

    def write(
        self,
        due: Iterable[Segment],
        held: Iterable[Segment],
        sources: Mapping[str, Source],
        go_on: Callable[[], bool],
    ) -> bool:
        """Write texts until all are there or there is no room; False where `go_on` ended it before."""
        whole = True
        for segment in due:
            source = sources.get(segment.meta.source)
            whole = go_on()
            if not whole:
                break
            self._done[segment.path] = False
            if source is None or not self._budget.has_room(lambda: map(_text, held), age_of(segment)):
                continue
            meta = segment.meta
            job = Job(folder=str(self._folder), run=self._info, source=source, part=meta.part, meta=meta)
            cost = meta.stop - meta.start + source.texts_bytes
            if self._inline_left >= cost:
                self._inline_left -= cost
                self._wrote(segment, perform(job))
                continue
            self._writing[self._workers.submit(job)] = segment
            while len(self._writing) > self._workers.count and go_on():
                self._land()
        while self._writing and go_on():
            self._land()
        return whole

    def _land(self) -> None:
        for future in futures.wait(self._writing, WAIT_S, futures.FIRST_COMPLETED).done:
            self._wrote(self._writing.pop(future), ScanReply() if future.cancelled() else future.result())

    def _wrote(self, segment: Segment, answer: ScanReply) -> None:
        path, meta = segment.path, segment.meta
        self._budget.wrote(text_of(path))
        self._done[path] = answer.meta is not None
        self._failed.pop(path, None)
        if answer.error:
            self._failed[path] = Problem(source=meta.source, reason=f"texts of part {meta.part}: {answer.error}")
        elif path == self._probe:
            self.forget(self._failed)

    def _is_done(self, segment: Segment) -> bool:
        is_done = not segment.meta.rows or text_of(segment.path).exists()
        if is_done:
            self._done[segment.path] = True
            self._failed.pop(segment.path, None)
        return is_done


def _text(segment: Segment) -> Text:
    return Text(age_of(segment), text_of(segment.path))


def text_of(path: Path) -> Path:
    """Where the texts of a segment lie."""
    return path.with_suffix(TEXT)


def age_of(segment: Segment) -> int:
    """Orders segments from old to new: their last step."""
    return max((sketch.step for sketch in segment.meta.sketches), default=0)
