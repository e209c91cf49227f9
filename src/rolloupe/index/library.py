"""The runs that are open together, each with an id for use in addresses."""

import atexit
import contextlib
import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

import msgspec

from rolloupe.errors import NotFound, RolloupeError, words_of
from rolloupe.formats import Discovery, Note, by_name, discover, discover_begun, distinct, listing_once, may_begin
from rolloupe.formats.curve_files import check_named
from rolloupe.formats.curves import hosts_of
from rolloupe.index.clock import CLOCK, Clock
from rolloupe.index.execution import SMALL_RUNS, Executor, OwnWork, ProcessExecutor, core_count
from rolloupe.index.fingerprint import size_of
from rolloupe.index.index_folders import (
    COPY_BYTES,
    check_store,
    default_index_dir,
    folder_of,
    local_copy,
    make_folder,
    place_of_run,
)
from rolloupe.index.run import OpenRun, RunServices, no_scores
from rolloupe.index.run_scheduler import RunScheduler
from rolloupe.index.scans import IndexServices
from rolloupe.index.schedule import RunShard
from rolloupe.index.segments.text_budget import Budget
from rolloupe.model import AS_FOUND, Location, Reading, RunInfo, Source
from rolloupe.storage import address_of, folder_entries, is_remote, place_of

if TYPE_CHECKING:
    from rolloupe.index.shared_index import Mirror


class NewFolders:
    """The names right below the folders that are searched, as they were before the last search."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path for path in paths if not is_remote(path)]
        self._names: dict[str, set[str]] = {}

    def note(self) -> None:
        """Take the names as known: all is searched from now on."""
        self._names = self._now()

    def are_there(self) -> bool:
        """True if there are names that are not known."""
        return any(names - self._names.get(folder, names) for folder, names in self._now().items())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have listings, within this context, lack what is known."""
        with listing_once(is_hidden=lambda folder, name: name in self._names.get(folder, ())):
            yield

    def _now(self) -> dict[str, set[str]]:
        found = {}
        for path in self._paths:
            with suppress(OSError, RuntimeError, ValueError):  # a file, or a folder that is missing for a while
                folder = str(path.expanduser().resolve(strict=True))
                with folder_entries(Location(folder, folder)) as listing:
                    found[folder] = {entry.name for entry in listing}
        return found


LOOK_S = 3.0
"""The shortest interval at which new runs are searched for."""
SOON_S = 0.5
"""The same while there is no run."""
LOOK_SHARE = 20
"""After a search that takes t, the thread rests for at least this many t."""


ADOPT_S = 0.5
"""The shortest interval at which runs are opened that the first search has found, while it goes on."""
ADOPT_SHARE = 5
"""After opening some that takes t, the next wait for at least this many t."""

ENDS_S = 10.0
"""How long to wait for a thread that has work to end."""

FIRST = 50
"""So many runs are indexed while the first search goes on."""

Callback = Callable[[str, OpenRun | None], None]


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
        clock: Clock = CLOCK,
    ) -> None:
        self._clock = clock

        place = place_of(index_dir) if index_dir else None
        self.shared_at = address_of(place) if place is not None and is_remote(place) else ""
        """The address of the store that the index is shared in; empty for an index in a folder."""
        if self.shared_at:
            check_store(str(place))
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
        began = self._clock.now_s()
        self._new_folders = NewFolders(self._paths if follow and only is None else [])
        self._new_folders.note()
        self._hasty: set[tuple[str, ...]] = set()
        """The places of runs that were found without a search of all."""
        discovery = self._first(patience_s if only is None else None, look_s)
        took_s = self._clock.now_s() - began
        check_named(discovery.runs)
        self.notes: list[Note] = []
        make_folder(self.index_dir)
        self._executor: Executor = executor() if executor else ProcessExecutor(processes or core_count())
        self._budget = Budget(self.index_dir, budget_bytes)
        scheduler = RunScheduler(clock=clock)
        indexing = IndexServices(self._executor, self._budget, scheduler, own_work, shard, clock)
        self._services = RunServices(indexing, self._changed, scores)
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
        found = list({place_of_run(info): info for info in self._early}.values())
        return Discovery(found if self._hides_runs else distinct(found), [])

    def _open(self, discovery: Discovery, *, is_whole: bool = False) -> None:
        """Open the runs that were found, and close all others; those that were written last are indexed first.

        While the first search goes on, few are indexed, so that it ends soon: the first, and those that somebody opens.
        `is_whole` ends it: whoever sees that finds all runs.
        """
        before = {place_of_run(run.info): run for run in self.runs}
        runs = dict[str, OpenRun]()
        for run_id, info in zip(ids_of(discovery.runs, self._hides_runs), discovery.runs, strict=True):
            run = before.get(place_of_run(info))
            if run is not None and run.info.parts == info.parts:
                del before[place_of_run(info)]
                run.rename(run_id, info)
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
        folder = folder_of(info, self.index_dir)
        self._budget.open_folders.add(folder)
        return OpenRun(run_id, info, folder, self._services, self._mirror(folder))

    def _mirror(self, folder: Path) -> "Mirror | None":
        """What keeps the index in a folder like the one that is shared in a store, if there is one."""
        if not self.shared_at:
            return None
        from rolloupe.index.shared_index import Mirror, SharedRun

        place = f"{place_of(self.shared_at)}/{folder.relative_to(self.index_dir).as_posix()}"
        return Mirror(folder, SharedRun(place), self._budget, self._clock)

    def _watch(self, began: float, took_s: float) -> None:
        """Look for runs that begin while this is open, once those are open that were there before."""
        if self._search is not None:
            self._adopt(self._search)
            took_s = self._clock.now_s() - began
        rest_s, whole_s = self._rest_after(0.0), self._clock.now_s() + self._rest_after(took_s)
        while not self._clock.wait(self._closed, max(0.0, min(rest_s, whole_s - self._clock.now_s()))):
            began = self._clock.now_s()
            is_whole = began >= whole_s
            with contextlib.suppress(RolloupeError, OSError):  # a root that is missing for a while may come back
                self._look() if is_whole else self._look_for_new()
            ended = self._clock.now_s()
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
            began, opened = self._clock.now_s(), len(found.runs)
            self._open(found, is_whole=is_over)
            rest_s = max(ADOPT_S, ADOPT_SHARE * (self._clock.now_s() - began))

    def _rest_after(self, took_s: float) -> float:
        """The rest after a search that took so long."""
        return max(LOOK_S if self._runs else min(LOOK_S, SOON_S), LOOK_SHARE * took_s)

    def _look_for_new(self) -> None:
        """Open runs in new folders, without a search of all, which may find that they are parts of others."""
        if self._new_folders.are_there():
            with self._new_folders.alone():
                found = self._discover(self._paths, self._reading).runs
            opened = {place_of_run(run.info) for run in self.runs}
            fresh = [info for info in found if place_of_run(info) not in opened and by_name(info.format).has_samples]
            curves = [run.info for run in self.runs if not run.format.has_samples]
            if any(host in fresh for _, host in hosts_of([*curves, *fresh])):
                self._look()  # the run of curves goes on as the one that begins
            elif fresh and not self._closed.is_set():
                self._hasty |= set(map(place_of_run, fresh))
                self._replace(fresh)

    def _look(self) -> None:
        self._new_folders.note()
        discovery = self._discover(self._paths, self._reading)
        opened = {place_of_run(run.info): run for run in self.runs}
        fresh = [info for info in discovery.runs if place_of_run(info) not in opened]
        pairs = [(opened.get(place_of_run(info)), info) for info in discovery.runs]
        grown = [(run, info) for run, info in pairs if run is not None and run.info.parts != info.parts]
        notes_changed, self.notes = discovery.notes != self.notes, discovery.notes
        found = {place_of_run(info) for info in discovery.runs}
        begun = any(by_name(info.format).has_samples for info in fresh)
        lost = [run for place, run in opened.items() if place not in found]
        hasty = [run for run in lost if place_of_run(run.info) in self._hasty]
        replaced = [run for run in lost if run in hasty or (begun and not run.format.has_samples)]
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


def _free_id(info: RunInfo, used_ids: Container[str]) -> str:
    """An id for a run that appeared later; the ids of the others stay."""
    (run_id,) = ids_of([info])
    while run_id in used_ids:
        run_id = f"{ids_of([info])[0]}-{_digest(info)}" if _digest(info) not in run_id else f"{run_id}+"
    return run_id


def _digest(info: RunInfo, *, with_format: bool = False) -> str:
    place = "\n".join(place_of_run(info)[0 if with_format else 1 :])
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
