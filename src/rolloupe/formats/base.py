"""What a format is: the shape that every module of this package has, and nothing else.

Formats of trainers that write more than samples have the shape `TrainerFiles` as well.

A format recognises runs (`detect`), names their files (`sources`), turns a byte range of a file into rows (`scan`)
and a locator into a `Sample` (`load`). A scan is a pure function of the file's bytes: two processes that scan the
same range yield the same rows.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from rolloupe.model import (
    Checkpoint,
    Locator,
    LoggedTranscript,
    LogNode,
    MetricRow,
    Problem,
    RunFile,
    RunInfo,
    Sample,
    SampleRow,
    Source,
)


class Format(Protocol):
    """One framework's layout."""

    name: ClassVar[str]
    title: ClassVar[str]
    splittable: ClassVar[bool]
    """True where `scan` may begin at any byte (JSON lines); False where a file is scanned whole."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """Return the runs that lie *at* `path` (a folder or one file), looking no deeper than the layout itself.

        `forced` means that a person named this format: names must fit as far as is needed, contents need not.
        Links are followed to what lies below `link_root` (empty: below `path`), and the runs say so.
        """
        ...

    def sources(self, run: RunInfo) -> list[Source]:
        """List the files that hold the run's samples, as they are now. Cheap: called on every poll."""
        ...

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[SampleRow | Problem]:
        """Yield a row or a problem for every record whose first byte lies in `[start, stop)`, in file order.

        A scan that starts inside a record skips it; a record that begins before `stop` is read to its end. An
        unfinished last record is a row if it can be read, else a transient problem.
        """
        ...

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """Read the one sample at `locator`, whole. Raises `SourceChanged` where the file no longer holds it."""
        ...

    def raw(self, source: Source, locator: Locator) -> bytes:
        """Return the bytes of the record at `locator`, as they stand in the file."""
        ...


@runtime_checkable
class TrainerFiles(Protocol):
    """What a run holds beside its samples. Each is read when asked for; what is absent or unreadable is empty."""

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """Return the trainer's metrics, one row a step in the order of the steps; rows without a step stand last.

        Rows of one step are merged, the last value of a key wins. A line that cannot be read is passed over.
        """
        ...

    def config(self, run: RunInfo) -> dict[str, Any]:
        """Return the configuration as the trainer wrote it."""
        ...

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """Return the saved states, in file order. That one is listed does not mean that it can still be loaded."""
        ...

    def code_diff(self, run: RunInfo) -> str:
        """Return what the code differed by from its repository when training began."""
        ...

    def files(self, run: RunInfo) -> list[RunFile]:
        """List the files of the run."""
        ...

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        """List the splits and steps for which something was logged, by split, then step."""
        ...

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode:
        """Return what was logged for a step, bounded in depth and size. Raises `NotFound` where nothing was."""
        ...

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """Return what was logged for a step and belongs to no sample for certain."""
        ...
