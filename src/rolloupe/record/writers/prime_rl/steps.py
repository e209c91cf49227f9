"""Where a rank writes its part of prime-rl's token export, and how ranks mark a step as finished."""

import contextlib
from pathlib import Path

from rolloupe.storage.atomic import append

EXPORTS = "token_exports"
STABLE = "STABLE"


class RankFolder:
    """The folder of a rank, and the marks of finished steps.

    prime-rl waits for all ranks, and then each touches `STABLE`. Here no rank waits: each leaves a mark when it ends a
    step, and the rank that finds all marks touches `STABLE` and removes them.
    """

    def __init__(self, output_dir: Path, rank: int, world_size: int, version: int, run_id: str | None) -> None:
        if run_id is not None and (run_id in ("", ".", "..") or "/" in run_id or "\0" in run_id):
            raise ValueError(f"run_id {run_id!r} is not a valid folder name")
        self.folder = (output_dir if run_id is None else output_dir / run_id) / EXPORTS
        self.rank = rank
        self.version = version
        self.run_id = run_id
        self._world_size = world_size
        self._begun: set[int] = set()
        self._unmarked: set[int] = set()
        if self._world_size > 1 and self.has_steps:
            self._forget()

    @property
    def has_steps(self) -> bool:
        """True for versions that write a folder for each step."""
        return self.version >= 4

    def file(self, step: int) -> Path:
        """Return the file of a step."""
        return (self._of(step) if self.has_steps else self.folder) / f"rank_{self.rank}.jsonl"

    def write(self, step: int, data: bytes) -> None:
        """Append to a step, after removing what an earlier process left of it, for example before a restart."""
        path = self.file(step)
        if self.has_steps:
            for name in (STABLE, self._mark(self.rank)):
                (self._of(step) / name).unlink(missing_ok=True)
            if step not in self._begun:
                path.unlink(missing_ok=True)
        append(path, data)
        self._begun.add(step)

    def end(self, step: int) -> None:
        """Mark a step as ended by this rank, and as `STABLE` once all ranks have ended it."""
        if not self.has_steps:
            return
        folder = self._of(step)
        folder.mkdir(parents=True, exist_ok=True)
        if self._world_size > 1:
            (folder / self._mark(self.rank)).touch()
        self._unmarked.add(step)
        self.settle()

    def settle(self) -> None:
        """Touch `STABLE` in the steps that all ranks have ended."""
        for step in sorted(self._unmarked):
            folder = self._of(step)
            marks = [folder / self._mark(rank) for rank in range(self._world_size)]
            if (folder / STABLE).exists():
                self._unmarked.discard(step)
            elif self._world_size == 1 or all(mark.exists() for mark in marks):
                (folder / STABLE).touch()
                for mark in marks:
                    mark.unlink(missing_ok=True)
                self._unmarked.discard(step)

    def _forget(self) -> None:
        """Remove this rank's marks in unfinished steps of an earlier process."""
        with contextlib.suppress(OSError):
            for mark in self.folder.glob(f"step_*/{self._mark(self.rank)}"):
                mark.unlink(missing_ok=True)

    def _of(self, step: int) -> Path:
        return self.folder / f"step_{step}"

    def _mark(self, rank: int) -> str:
        return f".rank_{rank}.ended"
