"""The runs that are open together, each with an id that an address can hold."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import platformdirs

from rolloupe.errors import NotFound, UnreadablePath
from rolloupe.formats import Note, discover
from rolloupe.index.budget import Budget
from rolloupe.index.run import OpenRun
from rolloupe.index.segment import VERSION
from rolloupe.index.worker import Workers, worker_count
from rolloupe.model import AS_FOUND, Reading, RunInfo

Callback = Callable[[str, OpenRun | None], None]


def default_index_dir() -> Path:
    """Where indexes lie unless told otherwise: the user's cache directory."""
    return Path(platformdirs.user_cache_dir("rolloupe")) / "index"


class Library:
    """The runs found at some paths; their indexes are brought up to date in the background from the start.

    `processes` scan, as many as there are cores unless told; `budget_bytes` is what the index may take, texts of the
    oldest steps going first. Raises `UnreadablePath` for a path that is missing, `NotRecognised` for a forced format
    that does not fit.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        index_dir: Path | str | None = None,
        follow: bool = False,
        reading: Reading = AS_FOUND,
        processes: int | None = None,
        budget_bytes: int | None = None,
    ) -> None:
        self.index_dir = Path(index_dir) if index_dir else default_index_dir()
        self._callbacks: list[Callback] = []
        self._lock = threading.Lock()
        found = discover([Path(p) for p in paths], reading)
        self.notes: list[Note] = found.notes
        _make_folder(self.index_dir)
        self._workers = Workers(processes or worker_count())
        self._budget = Budget(self.index_dir, budget_bytes)
        self.runs = [
            OpenRun(run_id, info, self._folder(info), self._workers, self._budget, self._changed)
            for run_id, info in zip(ids_of(found.runs), found.runs, strict=True)
        ]
        self._budget.open_folders.update(run.catalog.folder for run in self.runs)
        for run in self.runs:
            run.start(follow=follow)

    def run(self, run_id: str) -> OpenRun:
        """The run with that id. Raises `NotFound`, naming the ids there are."""
        for run in self.runs:
            if run.id == run_id:
                return run
        known = ", ".join(run.id for run in self.runs[:10]) or "none"
        raise NotFound(f"no run {run_id!r} is open; open runs: {known}")

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Have `callback("run", run)` called, from a background thread, whenever a run changed; returns the way out."""
        with self._lock:
            self._callbacks.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return unsubscribe

    def index_bytes(self) -> int:
        """Size on disk of the indexes of the open runs."""
        return sum(_size(run.catalog.folder) for run in self.runs)

    def clear(self) -> None:
        """Drop the indexes of the open runs; they are built again."""
        for run in self.runs:
            run.rebuild()

    def close(self) -> None:
        """Stop the background work."""
        for run in self.runs:
            run.stop()
        self._workers.close()
        for run in self.runs:
            run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _folder(self, info: RunInfo) -> Path:
        reading = [info.reading.reward_key, repr(info.reading.fields)] if info.reading != AS_FOUND else []
        key = "\n".join([info.format, info.root, *(f"{p.path}\t{p.split}" for p in info.parts), *reading])
        digest = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
        return self.index_dir / f"v{VERSION}" / digest

    def _changed(self, run: OpenRun) -> None:
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback("run", run)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadablePath(
            f"no index can be made at {folder}: {reason}. Next: name a folder with --index-dir"
        ) from None


def ids_of(runs: Sequence[RunInfo]) -> list[str]:
    """An id for each run: its name, with a few hex digits of its place's hash where names repeat."""
    names = [info.name.replace("/", "_").strip(".") or "run" for info in runs]
    ids = []
    for name, info in zip(names, runs, strict=True):
        digest = hashlib.blake2b(info.root.encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
        ids.append(name if names.count(name) == 1 else f"{name}-{digest}")
    return ids


def _size(folder: Path) -> int:
    return sum(_file_size(path) for path in folder.glob("??/*"))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
