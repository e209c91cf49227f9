"""The runs found at some paths."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, overload

from rolloupe.api.results import html_table
from rolloupe.api.run import Run
from rolloupe.errors import NotFound

if TYPE_CHECKING:
    from rolloupe.index import Library, OpenRun


class Runs(Run, Sequence[Run]):
    """The runs found at some paths: a sequence, and if there is only one, that run itself.

    A context manager; leaving it ends the background work. `notes` lists the places that were not opened, and why.
    """

    def __init__(self, library: "Library", *, wait: bool, state_dir: Path | None = None) -> None:
        super().__init__(lambda: self.only()._opened(), wait=wait, state_dir=state_dir)  # noqa: SLF001 - the same class
        self._library = library
        self._new = partial(_run, wait=wait, state_dir=state_dir)
        self._made: dict[OpenRun, Run] = {}
        self.notes = library.notes
        self.index_dir: Path = library.index_dir
        self.shared_at: str = library.shared_at

    @property
    def runs(self) -> list[Run]:
        """The runs; more of them if some have begun since, and they are followed."""
        made = self._made
        self._made = {one: made[one] if one in made else self._new(one) for one in self._library.runs}
        return list(self._made.values())

    @property
    def awaited(self) -> str:
        """Where a run may begin, in words; empty if there is one, or none may begin."""
        return self._library.awaited

    def only(self) -> Run:
        """Return the only run. Raises `NotFound` if there are no runs, or several, which it names."""
        runs = self.runs
        if len(runs) == 1:
            return runs[0]
        if not runs:
            notes = "".join(f"; {note.path}: {note.reason}" for note in self.notes[:3])
            raise NotFound(f"no run was found{notes}; `rolloupe doctor PATH` explains why")
        names = ", ".join(run.id for run in runs[:20]) + (", ..." if len(runs) > 20 else "")
        raise NotFound(f"there are {len(runs)} runs; choose one with .run(ID) or .runs[N]: {names}")

    def run(self, id: str) -> Run:
        """Return the run with this id. Raises `NotFound`, which names the runs."""
        opened = self._library.run(id)
        return next(run for run in self.runs if run.id == opened.id)

    def index_bytes(self) -> int:
        """Size of the index on disk, in bytes."""
        return self._library.index_bytes()

    def close(self) -> None:
        """End the background work; the index stays."""
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


def _run(opened: "OpenRun", *, wait: bool, state_dir: Path | None) -> Run:
    return Run(lambda: opened, wait=wait, state_dir=state_dir)
