"""Runs that are open, and what can be asked of them."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

from rolloupe.api.evals import OfEvals
from rolloupe.api.lists import OfSamples
from rolloupe.api.results import html_table
from rolloupe.api.sample import OfOne
from rolloupe.api.steps import OfSteps
from rolloupe.api.trainer_files import OfTheRest
from rolloupe.errors import NotFound

if TYPE_CHECKING:
    from rolloupe.index import Library, OpenRun
    from rolloupe.query import Reader


class Questions(OfSteps, OfSamples, OfOne, OfEvals, OfTheRest):
    """What can be asked of a run. `Run` answers for itself, `Runs` for the only run it holds."""


class Run(Questions):
    """One run. `id` is its name in addresses and on the command line."""

    def __init__(self, opened: "OpenRun", *, wait: bool, state_dir: Path | None = None) -> None:
        self._opened = opened
        self._state_dir = state_dir
        self._wait = wait
        self._reading: Reader | None = None
        self.id: str = opened.id
        self.name: str = opened.info.name
        self.path: str = opened.info.root
        self.format: str = opened.info.format
        self.reason: str = opened.info.reason
        """Why it is read as that format."""

    def wait(self, timeout_s: float | None = None, *, texts: bool = False) -> bool:
        """Wait until the numbers of all samples are indexed, or all their texts, too; False where time ran out."""
        return self._opened.wait_all(timeout_s) if texts else self._opened.wait(timeout_s)

    def indexed_bytes(self) -> tuple[int, int]:
        """Bytes of the run's files that are indexed, and of those that there are."""
        progress = self._opened.progress()
        return progress.done_bytes, progress.total_bytes

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.id)}</b> {escape(self.format)} {escape(self.path)}</p>{self.splits()._repr_html_()}"

    def __repr__(self) -> str:
        return f"<Run {self.id!r} ({self.format}) at {self.path!r}>"

    def _ready(self) -> "OpenRun":
        if self._wait:
            self._opened.wait()
        return self._opened

    def _reader(self) -> "Reader":
        opened = self._ready()
        if self._reading is None:
            from rolloupe import query

            self._reading = query.Reader(opened)
        return self._reading


class Runs(Questions, Sequence[Run]):
    """The runs found at some paths: a sequence, and where it is only one, that run itself.

    A context manager; leaving it ends the background work. `notes` says what was not opened, and why.
    """

    def __init__(self, library: "Library", *, wait: bool, state_dir: Path | None = None) -> None:
        self._library = library
        self._state_dir = state_dir
        self.runs: list[Run] = [Run(opened, wait=wait, state_dir=state_dir) for opened in library.runs]
        self.notes = library.notes
        self.index_dir: Path = library.index_dir

    def only(self) -> Run:
        """The only run. Raises `NotFound` where there is none, or more than one, naming them."""
        if len(self.runs) == 1:
            return self.runs[0]
        if not self.runs:
            said = "".join(f"; {note.path}: {note.reason}" for note in self.notes[:3])
            raise NotFound(f"no run is here{said}; `rolloupe doctor PATH` says more")
        names = ", ".join(run.id for run in self.runs[:20]) + (", ..." if len(self.runs) > 20 else "")
        raise NotFound(f"{len(self.runs)} runs are here: choose one with .run(ID) or .runs[N]; they are {names}")

    def run(self, id: str) -> Run:
        """The run of that id. Raises `NotFound`, naming those there are."""
        return self.runs[self._library.runs.index(self._library.run(id))]

    def index_bytes(self) -> int:
        """Size of the index on disk."""
        return self._library.index_bytes()

    def close(self) -> None:
        """End the background work; what is indexed stays."""
        self._library.close()

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> list[Run]: ...
    def __getitem__(self, place: int | slice) -> Run | list[Run]:
        return self.runs[place]

    def __len__(self) -> int:
        return len(self.runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        rows = [{"id": run.id, "format": run.format, "path": run.path} for run in self.runs]
        return html_table(rows, len(rows))

    def __repr__(self) -> str:
        return f"<Runs {[run.id for run in self.runs]}>"

    def _ready(self) -> "OpenRun":
        return self.only()._ready()  # noqa: SLF001 - the same question, to the one run

    def _reader(self) -> "Reader":
        return self.only()._reader()  # noqa: SLF001
