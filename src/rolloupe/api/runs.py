"""Opens runs: turns options into what to read, and how; and the runs found at some paths."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias, overload

from rolloupe.api.results import html_table
from rolloupe.api.run import Run
from rolloupe.errors import NotFound
from rolloupe.model import Reading

if TYPE_CHECKING:
    from rolloupe.index import Executor, Library, OpenRun


class Runs(Run, Sequence[Run]):
    """The runs found at some paths: a sequence, and if there is only one, that run itself.

    A context manager; leaving it ends the background work. `notes` lists the places that were not opened, and why.
    """

    def __init__(self, library: "Library", *, wait: bool, state_dir: Path | None = None) -> None:
        super().__init__(lambda: self.only()._opened(), wait=wait, state_dir=state_dir)  # noqa: SLF001 - the same class
        self._library = library
        self._new: Callable[[OpenRun], Run] = lambda opened: Run(lambda: opened, wait=wait, state_dir=state_dir)
        self._made: dict[OpenRun, Run] = {}
        self.notes = library.notes
        self.index_dir: Path = library.index_dir
        self.shared_at: str = library.shared_at

    @property
    def runs(self) -> list[Run]:
        """The runs, including those that have begun since if runs are followed."""
        made = self._made
        self._made = {one: made[one] if one in made else self._new(one) for one in self._library.runs}
        return list(self._made.values())

    @property
    def awaited(self) -> str:
        """Where a run may begin, in words; empty if a run is open, or if none may begin."""
        return self._library.awaited

    def only(self) -> Run:
        """Return the only run. Raises `NotFound` for no runs, or for several, which it names."""
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        rows = [{"id": run.id, "format": run.format, "path": run.path} for run in self.runs]
        return html_table(rows, len(rows))

    def __repr__(self) -> str:
        return f"<Runs {[run.id for run in self.runs]}>"


AnyPath: TypeAlias = str | PathLike[str]


def open(  # noqa: A001 - users call it as rolloupe.open
    path: AnyPath | Sequence[AnyPath],
    *,
    run: str | None = None,
    format: str | None = None,
    fields: Mapping[str, str] | AnyPath | None = None,
    group_by: str = "",
    reward_key: str = "",
    reward_range: tuple[float, float] | None = None,
    tokenizer: AnyPath = "",
    download_tokenizer: bool = False,
    metrics: AnyPath | Sequence[AnyPath] = (),
    metrics_step: str = "",
    index_dir: AnyPath | None = None,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    follow_symlinks: bool = False,
    wait: bool = True,
) -> "Runs":
    """Open the runs at and below a path, or several paths; indexing starts at once, in the background.

    Args:
        path: a folder or a file, or a list of them.
        run: the id of one run to open, of several that are there; `rolloupe ls` lists them.
        format: read everything as this format, whatever its contents.
        fields: for rows with unusual keys: maps each role to a key, `{"prompt": "request.text"}`, or names a TOML file
            with such a mapping. Roles: prompt, response, messages, reward, step, group, label, env, status, ...
        group_by: the key of a row whose equal values make a group, instead of what the format knows or infers; or
            several with commas between. `prompt` and `file` need no key.
        reward_key: the sample metric, or the part of a reward object, that counts as the reward.
        reward_range: the lowest and the highest possible reward, for colours.
        tokenizer: what makes text of token ids, for runs that hold these alone: a `tokenizer.json`, a SentencePiece
            model, a tiktoken file, a folder with one, or the name of a model in the local Hugging Face cache; by
            default what the run holds or names.
        download_tokenizer: fetch a tokenizer that the cache lacks: data files, never code.
        metrics: a file or folder with more curves, or several, of TensorBoard, Weights & Biases, SwanLab, trackio, as
            CSV or as JSON lines; those in the folder of a run are found by themselves.
        metrics_step: the metric that holds the step in such files, or "tracker" for the tracker's own count.
        index_dir: a folder for the index, instead of the user's cache directory.
        state_dir: a folder for bookmarks and notes, instead of `ROLLOUPE_STATE_DIR` or the user's data directory.
        follow: keep reading files that grow; otherwise each file is read once.
        follow_symlinks: follow links that lead out of `path`.
        wait: wait with each answer until the run is indexed; if False, answers cover only what is indexed so far.

    Raises `UnreadablePath` if a path or the tokenizer does not exist, `NotRecognised` if a given format does not fit,
    `NotFound` if only other runs exist, `BadQuery` for fields that do not exist.
    """
    from rolloupe.formats import checked_fields, fields_in

    paths = [path] if isinstance(path, (str, PathLike)) else list(path)
    named = fields_in(str(fields)) if isinstance(fields, (str, PathLike)) else checked_fields(fields or {})
    others = [metrics] if isinstance(metrics, (str, PathLike)) else metrics
    reading = Reading(
        format=format or "", follow_symlinks=follow_symlinks, fields=named,
        group_by=group_by, reward_key=reward_key, reward_range=reward_range,
        tokenizer=os.fspath(tokenizer), download_tokenizer=download_tokenizer,
        metrics=tuple(os.fspath(one) for one in others), metrics_step=metrics_step,
    )  # fmt: skip
    return runs_at(paths, index_dir=index_dir, state_dir=state_dir, reading=reading, follow=follow, wait=wait, only=run)


def runs_at(
    paths: Sequence[AnyPath],
    *,
    index_dir: AnyPath | None,
    reading: Reading,
    state_dir: AnyPath | None = None,
    follow: bool = False,
    wait: bool = True,
    processes: int | None = None,
    budget_bytes: int | None = None,
    look_s: float | None = None,
    waits: bool = False,
    only: str | None = None,
    shard: tuple[int, int] | None = None,
    on: str | None = None,
    numbers_first: bool = False,
) -> "Runs":
    """Open runs with these reading options, after a search for runs of at most `look_s` seconds.

    With `waits`, a path may be missing for now. `only` is the id of the one run to open. `shard` is the part of each
    run to index: a number from 1, and the count of shards. `on` names a cluster that indexes, `ray` or
    `ray://HOST:PORT`. With `numbers_first`, texts and all else are indexed once something waits for them.
    """
    from rolloupe.index import IndexWork, Library, RunSearch, RunShard
    from rolloupe.state.scores import ScoreFiles

    def cluster() -> "Executor":
        from rolloupe.index.ray_tasks import RayExecutor

        return RayExecutor(str(on))

    part, executor = None if shard is None else RunShard(*shard), None if on is None else cluster
    work = IndexWork(processes, executor, budget_bytes, shard=part)
    library = Library(
        [Path(path) for path in paths],
        index_dir=None if index_dir is None else Path(index_dir),
        follow=follow,
        search=RunSearch(reading, look_s=look_s, waits=waits, only=only),
        work=work._replace(looked_at=threading.Event()) if numbers_first else work,
        scores=ScoreFiles(state_dir),
    )
    return Runs(library, wait=wait, state_dir=None if state_dir is None else Path(state_dir))
