"""What a format is: the shape that every module of this package has, and nothing else.

A format recognises runs (`detect`), names their files (`sources`), turns a byte range of a file into rows (`scan`)
and a locator into a `Sample` (`load`). A scan is a pure function of the file's bytes, and of those of the file that
`Source.texts_from` stands for: two processes that scan the same range yield the same rows.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

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
    Scanned,
    Source,
    Texts,
    Turn,
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
        """List the files that hold the run's samples, as they are now, and those that say more of samples elsewhere.

        Cheap: called on every poll. Of annotations in two files, that of the later name counts (numbers by size).
        """
        ...

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """Yield the rows, annotations and problems of the records that begin in `[start, stop)`, in file order.

        A scan that starts inside a record skips it; a record that begins before `stop` is read to its end. An
        unfinished last record is a row if it can be read, else a transient problem.
        """
        ...

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        """Read the one sample at `locator`, whole. Raises `SourceChanged` where the file no longer holds it."""
        ...

    def raw(self, source: Source, locator: Locator) -> bytes:
        """Return the bytes of the record at `locator`, as they stand in the file. Raises `SourceChanged`."""
        ...

    def read(self, source: Source, start: int, length: int) -> bytes:
        """Return bytes of a file from `start` on, whatever they are: fewer where it ends. Raises `SourceChanged`."""
        ...


@runtime_checkable
class SeriesInSamples(Protocol):
    """A format whose scans say nothing of token series: those of a step are known from its samples read whole."""

    series_in_samples: ClassVar[bool]


@runtime_checkable
class TakesPlaces(Protocol):
    """A format whose `load` would search files for annotations, and can be told where they stand instead."""

    def load_with(self, run: RunInfo, source: Source, locator: Locator, said: Sequence[Locator]) -> Sample:
        """See `Format.load`. `said` are the places of the sample's annotations, oldest first."""
        ...


@runtime_checkable
class LoadsTexts(Protocol):
    """A format that reads the texts of a sample without making turns of them, which takes longer than all the rest."""

    def load_texts(self, run: RunInfo, source: Source, locator: Locator) -> Texts | None:
        """Read what `load` has as texts; None where only that can tell. Raises as `load` does."""
        ...


@runtime_checkable
class TrainerFiles(Protocol):
    """What a layout may hold beside samples. A format that has it, has all of it; what a run lacks is empty.

    Files are read when they are asked for, within bounds, and damaged ones as far as they can be read.
    """

    def metrics(self, run: RunInfo) -> list[MetricRow]:
        """Return the trainer's metrics: a row a step, later values over earlier ones; rows without a step last."""
        ...

    def config(self, run: RunInfo) -> dict[str, Any]:
        """Return the run's configuration."""
        ...

    def checkpoints(self, run: RunInfo) -> list[Checkpoint]:
        """Return the checkpoints, in the order in which they were made."""
        ...

    def code_diff(self, run: RunInfo) -> str:
        """Return what the code of the run differs by from its repository."""
        ...

    def files(self, run: RunInfo) -> list[RunFile]:
        """Return the files of the run's folder."""
        ...

    def logtrees(self, run: RunInfo) -> list[tuple[str, int]]:
        """Return the splits and steps for which there is a logged outline."""
        ...

    def logtree(self, run: RunInfo, split: str, step: int) -> LogNode | None:
        """Return the outline that was logged for a step; None where there is none."""
        ...

    def conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """Return the conversations of a step's outline which cannot be tied to a sample for certain."""
        ...


class Wanted(NamedTuple):
    """What is looked for in conversations: those that `holds` says yes to.

    None without `word` is one of them, in whatever case that stands: ASCII letters and blanks, small; empty where there
    is no such word. `check` is called again and again while one looks; to end that, it raises.
    """

    word: bytes
    holds: Callable[[Sequence[Turn]], bool]
    check: Callable[[], None]


class StepReport(NamedTuple):
    """What was logged for a step."""

    split: str
    step: int
    loose: Callable[[Wanted], list[LoggedTranscript]]
    """Those of its conversations that are no sample's for certain, as far as they are wanted.

    Raises `UnreadablePath`, and what `Wanted.check` raises.
    """


@runtime_checkable
class HasReports(Protocol):
    """A format whose outlines are files of their own, that another run of the layout can hold as they are."""

    def reports(self, run: RunInfo) -> list[StepReport]:
        """List them, with one look at the folders of the run."""
        ...

    def report_files(self, run: RunInfo, split: str, step: int) -> dict[str, bytes]:
        """Return what was logged for a step, by kind: `tree` (JSON), `page` (HTML). What cannot be read is left out."""
        ...

    def all_conversations(self, run: RunInfo, split: str, step: int) -> list[LoggedTranscript]:
        """Return all conversations of a step's outline, those that a sample shows with its id."""
        ...


@runtime_checkable
class HasBeside(Protocol):
    """A format whose `TrainerFiles` are files of JSON: what of them cannot be read is told as a problem of the run."""

    def beside(self, run: RunInfo) -> list[Source]:
        """List them: JSON lines and documents, which hold no samples. Cheap: called on every poll."""
        ...


@runtime_checkable
class TellsLosses(Protocol):
    """A format whose files say what of a run was never written."""

    def losses(self, run: RunInfo) -> list[Problem]:
        """Tell it. Called as `HasBeside.beside` is."""
        ...


@runtime_checkable
class StepStates(Protocol):
    """What some layouts say of their steps: whether one is finished."""

    def step_states(self, run: RunInfo) -> dict[tuple[str, int], str]:
        """Return a word for each split and step that is not finished: `being written` or `incomplete`."""
        ...


@runtime_checkable
class TellsTimes(Protocol):
    """A format whose files say when their lines were written."""

    def times_s(self, run: RunInfo) -> list[float]:
        """Return when steps were written, in seconds since the epoch, in any order. Read within bounds."""
        ...


@runtime_checkable
class Endings(Protocol):
    """What some layouts say of the end of a run. Asked for every few seconds, so it must be cheap."""

    def ending(self, run: RunInfo) -> str:
        """Return `ended`, `open` where the marker of a run's end is not there yet, or empty where none is written."""
        ...
