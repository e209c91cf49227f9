"""The runs that are open together, each with an id for use in addresses."""

import atexit
import contextlib
import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent import futures
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

import msgspec
import platformdirs

from rolloupe.errors import NotFound, RolloupeError, UnreadablePath, words_of
from rolloupe.formats import Discovery, Note, by_name, discover, discover_begun, distinct, may_begin
from rolloupe.formats.curve_files import check_named
from rolloupe.formats.curves import hosts_of
from rolloupe.index.execution import SMALL_RUNS, Executor, OwnWork, ProcessExecutor, core_count
from rolloupe.index.fingerprint import size_of
from rolloupe.index.poll.new_folders import NewFolders
from rolloupe.index.private_index import is_writable, private_index
from rolloupe.index.run import OpenRun, no_scores
from rolloupe.index.segments.segment import LAYOUT
from rolloupe.index.segments.text_budget import Budget
from rolloupe.index.shards import RunShard
from rolloupe.index.turns import Turns
from rolloupe.model import AS_FOUND, Reading, RunInfo, Source
from rolloupe.storage import address_of, is_remote, place_of
from rolloupe.storage.address import parts_of

if TYPE_CHECKING:
    from rolloupe.index.store.mirror import Mirror

LOOK_S = 3.0
"""The shortest interval at which new runs are searched for."""
SOON_S = 0.5
"""The same while there is no run."""
LOOK_SHARE = 20
"""After a search that takes t, the thread rests for at least this many t."""

COPY_BYTES = 20 * 10**9
"""The room for the copies of what is shared in a store, unless another is named."""

ADOPT_S = 0.5
"""The shortest interval at which runs are opened that the first search has found, while it goes on."""
ADOPT_SHARE = 5
"""After opening some that takes t, the next wait for at least this many t."""

ENDS_S = 10.0
"""How long to wait for a thread that has work to end."""

FIRST = 50
"""So many runs are indexed while the first search goes on."""

Callback = Callable[[str, OpenRun | None], None]


def default_index_dir() -> Path:
    """The default folder for indexes, in the user's cache directory."""
    return Path(platformdirs.user_cache_dir("rolloupe")) / "index"


class Library:
    """The runs found at some paths; from the start, background threads bring their indexes up to date.

    `processes` is the number of processes that scan (default: one for each core), unless there is another `executor`,
    which is made once there are runs and closed with the library. `budget_bytes` limits the size of the
    index: the texts of the oldest steps go first. The search for runs takes at most `look_s` seconds; `own_work` is
    what this process does itself; `scores` lists the files with a person's own scores of a run. Raises
    `UnreadablePath` for a missing path, and `NotRecognised` for a forced format that does not fit: with `waits`
    neither, as long as a run may begin there. With `only`, opens the run with this id and no other, and raises
    `NotFound` where others are: curves that the reading names are its own. With `patience_s`, which needs `follow`,
    opens after so long with the runs that were found, and with the others as they are. With `hides_runs`, name and id
    of a run follow from that run alone: whoever sees it may not know of others.
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
        look_s: float | None = None,
        patience_s: float | None = None,
        own_work: OwnWork = SMALL_RUNS,
        waits: bool = False,
        only: str | None = None,
        scores: Callable[[OpenRun], Sequence[Source]] = no_scores,
        shard: RunShard | None = None,
        executor: Callable[[], Executor] | None = None,
        hides_runs: bool = False,
    ) -> None:
        place = place_of(index_dir) if index_dir else None
        self.shared_at = address_of(place) if place is not None and is_remote(place) else ""
        """The address of the store that the index is shared in; empty for an index in a folder."""
        if self.shared_at:
            _look_at_store(str(place))
            self.index_dir, budget_bytes = local_copy(self.shared_at), budget_bytes or COPY_BYTES
        else:
            self.index_dir = place.absolute() if place else default_index_dir()
        self._paths = [Path(p) for p in paths]
        self._reading = reading
        self._callbacks: list[Callback] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        find = discover_begun if waits and any(map(may_begin, self._paths)) else discover
        self._hides_runs = hides_runs
        find = partial(find, is_over=self._closed.is_set, names_repeat=hides_runs)
        self._discover = find if only is None else partial(_only, only, find)
        self._early: list[RunInfo] = []
        self._search: futures.Future[Discovery] | None = None
        self._threads: list[threading.Thread] = []
        """Those that search for runs."""
        began = time.monotonic()
        self._new_folders = NewFolders(self._paths if follow and only is None else [])
        self._new_folders.note()
        self._hasty: set[tuple[str, ...]] = set()
        """The places of runs that were found without a search of all."""
        discovery = self._first(patience_s if only is None else None, look_s)
        took_s = time.monotonic() - began
        check_named(discovery.runs)
        self.notes: list[Note] = []
        _make_folder(self.index_dir)
        self._executor: Executor = executor() if executor else ProcessExecutor(processes or core_count())
        self._own_work = own_work
        self._scores, self._shard = scores, shard
        self._turns = Turns()
        self._budget = Budget(self.index_dir, budget_bytes)
        self._runs: dict[str, OpenRun] = {}
        self._follow = follow
        self._open(discovery)
        if follow:
            self._start("look for runs", self._watch, began, took_s)
        _open.add(self)

    def _start(self, name: str, work: Callable[..., None], *given: object) -> None:
        self._threads.append(threading.Thread(target=work, args=given, name=name, daemon=True))
        self._threads[-1].start()

    @property
    def runs(self) -> list[OpenRun]:
        """The open runs, as found; those that began later come last."""
        return list(self._runs.values())

    @property
    def _places(self) -> str:
        return ", ".join(map(address_of, self._paths))

    @property
    def is_searching(self) -> bool:
        """True until the first search for runs has ended: some may not be open yet, and names may change."""
        return self._search is not None and not self._closed.is_set()

    def _first(self, patience_s: float | None, look_s: float | None) -> Discovery:
        """What the first search finds, or has found after some time, while it goes on in a thread."""
        how = self._reading
        if patience_s is None or how.format or how.fields or how.metrics:  # those who named one wait for an error
            return self._discover(self._paths, how, look_s)
        search = futures.Future[Discovery]()

        def look() -> None:
            try:
                search.set_result(self._discover(self._paths, how, None, self._early.append))
            except BaseException as error:
                search.set_exception(error)

        self._start("first search", look)
        if futures.wait([search], patience_s).done:
            return search.result()
        self._search = search
        return self._found_so_far()

    def _found_so_far(self) -> Discovery:
        found = list({_place(info): info for info in self._early}.values())
        return Discovery(found if self._hides_runs else distinct(found), [])

    def _open(self, discovery: Discovery, *, is_whole: bool = False) -> None:
        """Open the runs that were found, and close all others; those that were written last are indexed first.

        While the first search goes on, few are indexed, so that it ends soon: the first, and those that somebody opens.
        `is_whole` ends it: whoever sees that finds all runs.
        """
        before = {_place(run.info): run for run in self.runs}
        runs = dict[str, OpenRun]()
        for run_id, info in zip(ids_of(discovery.runs, self._hides_runs), discovery.runs, strict=True):
            run = before.get(_place(info))
            if run is not None and run.info.parts == info.parts:
                del before[_place(info)]
                run.id, run.info = run_id, info  # another run may have the same name
            else:
                run = self._opened(run_id, info)
            runs[run_id] = run
        self._runs, self.notes = runs, discovery.notes
        if is_whole:
            self._search = None
        self._tell("runs", None)  # before any of them changes
        started = list(runs.values())[: FIRST if self.is_searching else None]
        for run in sorted(started, key=lambda run: _changed_s(run.info.root), reverse=True):
            run.start(follow=self._follow)
        for old in before.values():
            old.close()

    def _opened(self, run_id: str, info: RunInfo) -> OpenRun:
        folder = self._folder(info)
        self._budget.open_folders.add(folder)
        return OpenRun(
            run_id,
            info,
            folder,
            self._executor,
            self._budget,
            self._changed,
            self._turns,
            self._own_work,
            self._scores,
            self._shard,
            self._mirror(folder),
        )

    def _mirror(self, folder: Path) -> "Mirror | None":
        """What keeps the index in a folder like the one that is shared in a store, if there is one."""
        if not self.shared_at:
            return None
        from rolloupe.index.store.mirror import Mirror
        from rolloupe.index.store.objects import SharedRun

        place = f"{place_of(self.shared_at)}/{folder.relative_to(self.index_dir).as_posix()}"
        return Mirror(folder, SharedRun(place), self._budget)

    def _watch(self, began: float, took_s: float) -> None:
        """Look for runs that begin while this is open, once those are open that were there before."""
        if self._search is not None:
            self._adopt(self._search)
            took_s = time.monotonic() - began
        rest_s, whole_s = self._rest_after(0.0), time.monotonic() + self._rest_after(took_s)
        while not self._closed.wait(max(0.0, min(rest_s, whole_s - time.monotonic()))):
            began = time.monotonic()
            is_whole = began >= whole_s
            with contextlib.suppress(RolloupeError, OSError):  # a root that is missing for a while may come back
                self._look() if is_whole else self._look_for_new()
            ended = time.monotonic()
            if is_whole:
                rest_s, whole_s = self._rest_after(0.0), ended + self._rest_after(ended - began)
            else:
                rest_s = self._rest_after(ended - began)

    def _adopt(self, search: "futures.Future[Discovery]") -> None:
        """Open what the first search finds, and at its end what it found in all."""
        rest_s, opened = ADOPT_S, len(self._runs)
        while self._search is not None and not self._closed.is_set():
            futures.wait([search], rest_s)
            found, is_over = self._found_so_far(), search.done()
            error = search.exception() if is_over else None
            if error is not None:
                words = str(error) if isinstance(error, RolloupeError) else words_of(error)
                found.notes.append(Note(self._places, f"the search stopped: {words}"))
            elif is_over:
                found = search.result()
            elif len(found.runs) == opened:
                continue
            began, opened = time.monotonic(), len(found.runs)
            self._open(found, is_whole=is_over)
            rest_s = max(ADOPT_S, ADOPT_SHARE * (time.monotonic() - began))

    def _rest_after(self, took_s: float) -> float:
        """The rest after a search that took so long."""
        return max(LOOK_S if self._runs else min(LOOK_S, SOON_S), LOOK_SHARE * took_s)

    def _look_for_new(self) -> None:
        """Open runs in new folders, without a search of all, which may find that they are parts of others."""
        if self._new_folders.are_there():
            with self._new_folders.alone():
                found = self._discover(self._paths, self._reading).runs
            opened = {_place(run.info) for run in self.runs}
            fresh = [info for info in found if _place(info) not in opened and by_name(info.format).has_samples]
            curves = [run.info for run in self.runs if not run.format.has_samples]
            if any(host in fresh for _, host in hosts_of([*curves, *fresh])):
                self._look()  # the run of curves goes on as the one that begins
            elif fresh and not self._closed.is_set():
                self._hasty |= set(map(_place, fresh))
                self._replace(fresh)

    def _look(self) -> None:
        self._new_folders.note()
        discovery = self._discover(self._paths, self._reading)
        opened = {_place(run.info): run for run in self.runs}
        fresh = [info for info in discovery.runs if _place(info) not in opened]
        pairs = [(opened.get(_place(info)), info) for info in discovery.runs]
        grown = [(run, info) for run, info in pairs if run is not None and run.info.parts != info.parts]
        notes_changed, self.notes = discovery.notes != self.notes, discovery.notes
        found = {_place(info) for info in discovery.runs}
        begun = any(by_name(info.format).has_samples for info in fresh)
        lost = [run for place, run in opened.items() if place not in found]
        replaced = [run for run in lost if (begun and not run.format.has_samples) or _place(run.info) in self._hasty]
        self._hasty.clear()
        if (fresh or grown or replaced or notes_changed) and not self._closed.is_set():
            self._replace(fresh, replaced, grown)

    def _replace(
        self,
        fresh: Sequence[RunInfo],
        replaced: Sequence[OpenRun] = (),
        grown: Sequence[tuple[OpenRun, RunInfo]] = (),
    ) -> None:
        """Open runs that are new, and others again that have further parts; close those that they replace."""
        before = self._runs
        runs = {run_id: run for run_id, run in before.items() if run not in replaced}
        for old, info in grown:  # an evaluation that began beside its run, say
            runs[old.id] = self._opened(old.id, info)
        for info in fresh:
            run_id = ids_of([info], True)[0] if self._hides_runs else _free_id(info, runs)
            runs[run_id] = self._opened(run_id, info)
        self._runs = runs
        self._tell("runs", None)  # before any of them changes
        for run_id, run in runs.items():
            if run is not before.get(run_id):
                run.start(follow=True)
        for old in [*replaced, *(old for old, _ in grown)]:
            old.close()

    @property
    def awaited(self) -> str:
        """Say where a run may begin, and what is there now; empty if a run is open, or none may begin."""
        if self.runs or not any(map(may_begin, self._paths)):
            return ""
        places = self._places
        notes = "; ".join(
            note.reason if note.path == places else f"{note.path}: {note.reason}" for note in self.notes[:3]
        )
        return f"Waiting for a run at {places}{f' ({notes})' if notes else ''}."

    def run(self, run_id: str) -> OpenRun:
        """The run with this id. Raises `NotFound`, which lists the open runs."""
        run = self.find(run_id)
        if run is None:
            raise _no_run(run_id, list(self._runs))
        run.asked()
        return run

    def find(self, run_id: str) -> OpenRun | None:
        """The run with this id, if it is open."""
        return self._runs.get(run_id)

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Call `callback("run", run)` whenever a run changes, and `callback("runs", None)` whenever one appears.

        Background threads call it. Returns a function that ends the subscription.
        """
        with self._lock:
            self._callbacks.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return unsubscribe

    def index_bytes(self, runs: Iterable[OpenRun] | None = None) -> int:
        """The size on disk of the indexes of some runs, or of all that are open."""
        return sum(_size(run.catalog.folder) for run in (self.runs if runs is None else runs))

    def clear(self) -> None:
        """Drop the open runs' indexes, and build them again."""
        for run in self.runs:
            run.rebuild()

    def close(self) -> None:
        """Stop the background work, and wait for its end."""
        _open.discard(self)
        self._closed.set()
        for run in self.runs:
            run.stop()
        self._executor.close()
        for run in self.runs:
            run.close()
        for thread in self._threads:
            thread.join(ENDS_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _folder(self, info: RunInfo) -> Path:
        asked = msgspec.structs.replace(
            info.reading,
            tokenizer="",
            download_tokenizer=False,
            metrics=(),
            metrics_by_name=False,
            metrics_step="",
        )
        reading = [asked.reward_key, repr(asked.fields)] if asked != AS_FOUND else []
        reading += [f"group by {asked.group_by}"] if asked.group_by else []
        decoder = info.tokenizer if by_name(info.format).decodes_ids else None
        digest = [f"tokenizer {decoder.digest}"] if decoder else []
        key = "\n".join([*_place(info), *(f"{p.path}\t{p.split}" for p in info.parts), *reading, *digest])
        name = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
        folder = self.index_dir / f"v{LAYOUT}" / name
        own = default_index_dir()
        return folder if is_writable(folder) or self.index_dir == own else private_index(folder, own)

    def _changed(self, run: OpenRun) -> None:
        self._tell("run", run)

    def _tell(self, kind: str, run: OpenRun | None) -> None:
        with self._lock:
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback(kind, run)


_open: "WeakSet[Library]" = WeakSet()


@atexit.register
def _close_all() -> None:
    """Close what a program left open: a thread in native code would abort the process as the interpreter ends."""
    for library in [*_open]:
        library.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)  # the threads and processes stay with the parent


def _only(run_id: str, find: Callable[..., Discovery], *how: Any) -> Discovery:
    """Find runs, and of several the one with an id. Raises `NotFound` if there are others alone."""
    discovery = find(*how)
    ids = ids_of(discovery.runs)
    runs = [
        msgspec.structs.replace(info, reading=msgspec.structs.replace(info.reading, metrics_by_name=False))
        for one, info in zip(ids, discovery.runs, strict=True)
        if one == run_id
    ]
    if discovery.runs and not runs:
        raise _no_run(run_id, ids)
    return Discovery(runs, discovery.notes)


def _no_run(run_id: str, ids: Sequence[str]) -> NotFound:
    return NotFound(f"no run {run_id!r} is open; open runs: {', '.join(ids[:10]) or 'none'}")


def local_copy(address: str) -> Path:
    """The folder with the copies of the indexes that are shared in a store."""
    asked = "\n".join([address, *(os.environ.get(name, "") for name in ("ROLLOUPE_ENDPOINT", "AWS_ENDPOINT_URL"))])
    name = hashlib.blake2b(asked.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
    return default_index_dir().with_name("stores") / name


def _look_at_store(place: str) -> None:
    """Make sure that a store can have a shared index. Raises `UnreadablePath`."""
    scheme, bucket, key = parts_of(place)
    if scheme not in ("s3", "gs", "az"):
        raise UnreadablePath(
            f"the index cannot lie at {address_of(place)}. "
            "Next: name a folder, or s3://, gs:// or az://, with --index-dir"
        )
    try:
        from rolloupe.storage.remote.connection import connection

        connection(scheme, bucket).list(key)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadablePath(f"cannot share an index at {address_of(place)}: {reason}") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadablePath(
            f"cannot write an index to {folder}: {reason}. Next: name a folder with --index-dir"
        ) from None


def _free_id(info: RunInfo, used_ids: Container[str]) -> str:
    """An id for a run that appeared later; the ids of the others stay."""
    (run_id,) = ids_of([info])
    while run_id in used_ids:
        run_id = f"{ids_of([info])[0]}-{_digest(info)}" if _digest(info) not in run_id else f"{run_id}+"
    return run_id


def _place(info: RunInfo) -> tuple[str, ...]:
    """What no other run has in common: its format, its root, and which run of that it is."""
    return (info.format, info.root, info.within) if info.within else (info.format, info.root)


def _digest(info: RunInfo, *, with_format: bool = False) -> str:
    place = "\n".join(_place(info)[0 if with_format else 1 :])
    return hashlib.blake2b(place.encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()


def plain_id(info: RunInfo) -> str:
    """The id of a run of whose name there is no other."""
    return info.name.replace("/", "_").strip(".") or "run"


def ids_of(runs: Sequence[RunInfo], are_hidden: bool = False) -> list[str]:
    """An id for each run: its name, followed by a few hex digits of its path's hash if names repeat.

    If some are hidden from people, the digits always follow, and are those of its format, too.
    """
    names = [plain_id(info) for info in runs]
    times, ids = Counter(names), dict[str, None]()
    for name, info in zip(names, runs, strict=True):
        run_id = name if times[name] == 1 else f"{name}-{_digest(info)}"
        run_id = f"{name}-{_digest(info, with_format=True)}" if are_hidden else run_id
        while run_id in ids:  # of another format at the same place
            run_id += "+"
        ids[run_id] = None
    return list(ids)


def _changed_s(place: str) -> float:
    """When a run's folder changed; 0 if nobody says so at once."""
    try:
        return 0.0 if is_remote(place) else os.stat(place).st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    return sum(size_of(path) for path in folder.glob("*/*"))
