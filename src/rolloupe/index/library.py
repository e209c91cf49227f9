"""The runs that are open together, each with an id for use in addresses."""

import atexit
import hashlib
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self
from weakref import WeakSet

import msgspec

from rolloupe.errors import NotFound, RolloupeError, words_of
from rolloupe.formats import Discovery, Note, by_name, discover, discover_begun, distinct, listing_once, may_begin
from rolloupe.formats.curve_files import check_named, hosts_of
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
from rolloupe.index.run import OpenRun
from rolloupe.index.run_scheduler import CLOCK, Clock, RunScheduler
from rolloupe.index.scans import NOT_AWAITED, IndexServices, RunShard
from rolloupe.index.segments.kinds import Budget
from rolloupe.model import AS_FOUND, Location, Reading, RunInfo, Source
from rolloupe.storage import address_of, folder_entries, is_remote, place_of

LOOK_S, SOON_S = 3.0, 0.5
"""The shortest interval between two searches for new runs: with open runs, and without any."""
LOOK_SHARE = 20
"""After a search that takes t, the thread rests for at least this many t."""

ADOPT_S, ADOPT_SHARE = 0.5, 5
"""While the first search continues, the library opens the runs found so far, at intervals: the shortest interval, and
the least multiple of the time that the last opening took.
"""

ENDS_S = 10.0
"""How long to wait for the end of a thread."""

FIRST = 50
"""The number of runs to index while the first search goes on."""

FIRST_S = 20.0
"""The longest time to index all of the run that is seen first, before other runs begin."""

Callback = Callable[[str, OpenRun | None], None]


class RunSearch(NamedTuple):
    """How runs are searched for."""

    reading: Reading = AS_FOUND
    look_s: float | None = None
    """The longest time of the search."""
    patience_s: float | None = None
    """After this time the library opens with the runs of the search so far, and goes on searching."""
    waits: bool = False
    """True if a run may begin later: neither a missing path nor a format that does not fit is an error."""
    only: str | None = None
    """The id of the only run to open; curves that the reading names belong to it."""
    hides_runs: bool = False
    """True if the name and the id of a run must not reveal other runs."""


class IndexWork(NamedTuple):
    """How runs are indexed."""

    processes: int | None = None
    """The number of processes that scan; None for one per core."""
    executor: Callable[[], Executor] | None = None
    """Makes an executor that replaces the processes; the library closes it."""
    budget_bytes: int | None = None
    """The largest size of all indexes: beyond it, the texts of the oldest steps are deleted."""
    own_work: OwnWork = SMALL_RUNS
    """The work that this process does itself."""
    shard: RunShard | None = None
    clock: Clock = CLOCK
    looked_at: threading.Event = NOT_AWAITED
    """Set once a person sees a sample: until then, only numbers are indexed. `Library.go_on` sets it, too."""
    first: str = ""
    """The id of the run that the person sees first: until it is indexed, other runs are indexed only if asked about."""


ANY_RUN, ALL_CORES = RunSearch(), IndexWork()


class Library:
    """The runs found at some paths; from the start, background threads bring their indexes up to date.

    `scores` lists the files with a person's own scores of a run. Raises `UnreadablePath` for a missing path,
    `NotRecognised` for a forced format that does not fit, and `NotFound` if the requested run is not among them.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        index_dir: Path | str | None = None,
        follow: bool = False,
        search: RunSearch = ANY_RUN,
        work: IndexWork = ALL_CORES,
        scores: Callable[[OpenRun], Sequence[Source]] = lambda _: (),
    ) -> None:
        self._clock, budget_bytes = work.clock, work.budget_bytes
        place = place_of(index_dir) if index_dir else None
        self.shared_at = address_of(place) if place is not None and is_remote(place) else ""
        """The address of the store that holds the shared index; empty for an index in a folder."""
        if self.shared_at:
            check_store(str(place))
            self.index_dir, budget_bytes = local_copy(self.shared_at), budget_bytes or COPY_BYTES
        else:
            self.index_dir = place.absolute() if place else default_index_dir()
        self._paths = [Path(p) for p in paths]
        self._places = ", ".join(map(address_of, self._paths))
        self._reading, self._hides_runs, self._follow = search.reading, search.hides_runs, follow
        self._callbacks: dict[object, Callback] = {}
        self._closed = threading.Event()
        find = discover_begun if search.waits and any(map(may_begin, self._paths)) else discover
        find = partial(find, is_over=self._closed.is_set, names_repeat=search.hides_runs)
        self._discover = find if search.only is None else partial(_only, search.only, find)
        self._early: list[RunInfo] = []
        self._search: futures.Future[Discovery] | None = None
        self._threads: list[threading.Thread] = []
        """The threads that search for runs."""
        began = self._clock.now_s()
        watches = follow and search.only is None
        self._watched = [path for path in self._paths if watches and not is_remote(path)]
        self._known_names = names_in(self._watched)
        """The names in each searched folder before the last whole search."""
        self._hasty: set[tuple[str, ...]] = set()
        """The places of runs that were opened without a whole search."""
        discovery = self._first(search.patience_s if search.only is None else None, search.look_s)
        took_s = self._clock.now_s() - began
        check_named(discovery.runs)
        self.notes: list[Note] = []
        make_folder(self.index_dir)
        self.executor: Executor = work.executor() if work.executor else ProcessExecutor(work.processes or core_count())
        self.budget = Budget(self.index_dir, budget_bytes)
        scheduler = RunScheduler(clock=work.clock)
        self._services = IndexServices(
            self.executor, self.budget, scheduler, work.own_work, work.shard, work.clock, work.looked_at
        )
        self._scores, self._first_id = scores, work.first
        self._runs: dict[str, OpenRun] = {}
        self._open(discovery)
        if follow:
            self._start("look for runs", self.watch, began, took_s)
        _open.add(self)

    def _start(self, name: str, work: Callable[..., None], *given: object) -> None:
        self._threads.append(threading.Thread(target=work, args=given, name=name, daemon=True))
        self._threads[-1].start()

    @property
    def runs(self) -> list[OpenRun]:
        """The open runs, as found; runs that began later come last."""
        return list(self._runs.values())

    @property
    def is_searching(self) -> bool:
        """True until the first search for runs has ended: more runs may follow, and names may change."""
        return self._search is not None and not self._closed.is_set()

    def _first(self, patience_s: float | None, look_s: float | None) -> Discovery:
        """The runs of the first search; after `patience_s`, the runs so far, while a thread continues the search."""
        how = self._reading
        if patience_s is None or how.format or how.fields or how.metrics:  # a wrong one raises: wait
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
        runs = list({place_of_run(info): info for info in self._early}.values())
        return Discovery(runs if self._hides_runs else distinct(runs), [])

    def _open(self, discovery: Discovery, *, is_whole: bool = False) -> None:
        """Open the runs of the first search so far, and close all others; `is_whole` marks the end of the search."""
        before = {place_of_run(run.info): run for run in self.runs}
        runs = dict[str, OpenRun]()
        for run_id, info in zip(ids_of(discovery.runs, self._hides_runs), discovery.runs, strict=True):
            run = before.get(place_of_run(info))
            if run is None or run.info.parts != info.parts:
                run = self.open_run(run_id, info)
            run.rename(run_id, info)
            runs[run_id] = run
        self.notes = discovery.notes
        if is_whole:
            self._search = None
        self._show(runs)

    def _show(self, runs: dict[str, OpenRun]) -> None:
        """Make these the open runs: report them, index the new ones, and close the others."""
        before, self._runs = self.runs, runs
        self._tell("runs", None)  # before any of them changes
        self._start_new()
        kept = {*map(id, runs.values())}
        for run in before:
            if id(run) not in kept:
                run.close()

    def _start_new(self) -> None:
        """Index the new runs, the most recently written first.

        During the first search, only the first runs are indexed, and runs that somebody opens: the search ends sooner.
        """
        new = [run for run in self.runs[: FIRST if self.is_searching else None] if not run.is_started]
        if self._first_id in self._runs:
            new = [self._runs[self._first_id]]
        for run in sorted(new, key=lambda run: _changed_s(run.info.root), reverse=True):
            run.start(follow=self._follow)

    def open_run(self, run_id: str, info: RunInfo) -> OpenRun:
        """Open a run, with the index that it has in the folder or the store of the library."""
        folder, mirror = folder_of(info, self.index_dir), None
        self.budget.open_folders.add(folder)
        if self.shared_at:
            from rolloupe.index.shared_index import Mirror, SharedRun

            place = f"{place_of(self.shared_at)}/{folder.relative_to(self.index_dir).as_posix()}"
            mirror = Mirror(folder, SharedRun(place), self.budget, self._clock)
        return OpenRun(run_id, info, folder, self._services, partial(self._tell, "run"), self._scores, mirror)

    def watch(self, began: float, took_s: float) -> None:
        """Look for runs that begin while the library is open, after the end of the first search."""
        if self._search is not None:
            self._adopt(self._search)
            took_s = self._clock.now_s() - began
        rest_s, whole_s = self.rest_after(0.0), self._clock.now_s() + self.rest_after(took_s)
        while not self._clock.wait(self._closed, max(0.0, min(rest_s, whole_s - self._clock.now_s()))):
            began = self._clock.now_s()
            is_whole = began >= whole_s
            with suppress(RolloupeError, OSError):  # a root that is missing for a while may come back
                self.look() if is_whole else self.look_for_new()
            ended = self._clock.now_s()
            rest_s = self.rest_after(0.0 if is_whole else ended - began)
            whole_s = ended + self.rest_after(ended - began) if is_whole else whole_s

    def _adopt(self, search: "futures.Future[Discovery]") -> None:
        """Open the runs that the first search finds, until it ends."""
        rest_s, opened = ADOPT_S, len(self._runs)
        while self._search is not None and not self._closed.is_set():
            futures.wait([search], rest_s)
            discovery, is_over = self._found_so_far(), search.done()
            error = search.exception() if is_over else None
            if error is not None:
                words = str(error) if isinstance(error, RolloupeError) else words_of(error)
                discovery.notes.append(Note(self._places, f"the search stopped: {words}"))
            elif is_over:
                discovery = search.result()
            elif len(discovery.runs) == opened:
                continue
            began, opened = self._clock.now_s(), len(discovery.runs)
            self._open(discovery, is_whole=is_over)
            rest_s = max(ADOPT_S, ADOPT_SHARE * (self._clock.now_s() - began))

    def rest_after(self, took_s: float) -> float:
        """The rest after a search that took `took_s`."""
        return max(LOOK_S if self._runs else min(LOOK_S, SOON_S), LOOK_SHARE * took_s)

    def look_for_new(self) -> None:
        """Open runs in new folders at once; a whole search may find later that they are parts of others."""
        known = self._known_names
        if any(names - known.get(folder, names) for folder, names in names_in(self._watched).items()):
            with listing_once(is_hidden=lambda folder, name: name in known.get(folder, ())):
                runs = self._discover(self._paths, self._reading).runs
            opened = {place_of_run(run.info) for run in self.runs}
            fresh = [info for info in runs if place_of_run(info) not in opened and by_name(info.format).has_samples]
            curves = [run.info for run in self.runs if not run.format.has_samples]
            if any(host in fresh for _, host in hosts_of([*curves, *fresh])):
                self.look()  # the run of curves continues as the new run
            elif fresh and not self._closed.is_set():
                self._hasty |= set(map(place_of_run, fresh))
                self._replace(fresh)

    def look(self) -> None:
        """Search for all runs again; open those that are new, and close those that others replace."""
        self._known_names = names_in(self._watched)
        discovery = self._discover(self._paths, self._reading)
        runs = {place_of_run(info): info for info in discovery.runs}
        opened = {place_of_run(run.info): run for run in self.runs}
        fresh = [info for place, info in runs.items() if place not in opened]
        begun = any(by_name(info.format).has_samples for info in fresh)
        grown, replaced = list[tuple[OpenRun, RunInfo]](), list[OpenRun]()
        for place, run in opened.items():
            if place not in runs and (place in self._hasty or (begun and not run.format.has_samples)):
                replaced.append(run)
            elif place in runs and run.info.parts != runs[place].parts:
                grown.append((run, runs[place]))
        notes_changed, self.notes = discovery.notes != self.notes, discovery.notes
        self._hasty.clear()
        if (fresh or grown or replaced or notes_changed) and not self._closed.is_set():
            self._replace(fresh, replaced, grown)

    def _replace(
        self, fresh: Sequence[RunInfo], replaced: Sequence[OpenRun] = (), grown: Sequence[tuple[OpenRun, RunInfo]] = ()
    ) -> None:
        """Open new runs, reopen runs with more parts, and close the runs that they replace."""
        runs = {run_id: run for run_id, run in self._runs.items() if run not in replaced}
        for old, info in grown:  # an evaluation that began beside its run, say
            runs[old.id] = self.open_run(old.id, info)
        for info in fresh:
            (first_id,) = ids_of([info], self._hides_runs)
            run_id, digest = first_id, _digest(info)
            while run_id in runs and not self._hides_runs:  # the ids of the others stay
                run_id = f"{run_id}+" if digest in run_id else f"{first_id}-{digest}"
            runs[run_id] = self.open_run(run_id, info)
        self._show(runs)

    @property
    def awaited(self) -> str:
        """Where a run may begin, and what is there now; empty if a run is open, or no run may begin."""
        if self.runs or not any(map(may_begin, self._paths)):
            return ""
        places = self._places
        first = [note.reason if note.path == places else f"{note.path}: {note.reason}" for note in self.notes[:3]]
        notes = "; ".join(first)
        return f"Waiting for a run at {places}{f' ({notes})' if notes else ''}."

    def run(self, run_id: str) -> OpenRun:
        """The run with this id. Raises `NotFound`, which lists the open runs."""
        run = self.find(run_id)
        if run is None:
            raise _no_run(run_id, [*self._runs])
        run.note_question()
        return run

    def find(self, run_id: str) -> OpenRun | None:
        """The run with this id, if it is open."""
        return self._runs.get(run_id)

    def subscribe(self, callback: Callback) -> Callable[[], None]:
        """Call `callback("run", run)` after each change, `callback("runs", None)` for new runs, in any thread.

        Returns a function that ends this.
        """
        key = object()
        self._callbacks[key] = callback

        def unsubscribe() -> None:
            self._callbacks.pop(key, None)

        return unsubscribe

    def index_bytes(self, runs: Iterable[OpenRun] | None = None) -> int:
        """The size on disk of the indexes of some runs, or of all that are open."""
        folders = [run.catalog.folder for run in (self.runs if runs is None else runs)]
        return sum(size_of(path) for folder in folders for path in folder.glob("*/*"))

    def close(self) -> None:
        """Stop the background work, and wait for its end."""
        _open.discard(self)
        self._closed.set()
        for run in self.runs:
            run.stop()
        self.executor.close()
        for run in self.runs:
            run.close()
        for thread in self._threads:
            thread.join(ENDS_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def go_on(self) -> None:
        """Index texts and all else, whether or not a person has seen a sample, first of the run that is seen first."""
        self._services.looked_at.set()
        if (first := self.find(self._first_id)) is not None:
            first.go_on()
            first.wait_all(FIRST_S)
        self._first_id = ""
        self._start_new()
        for run in self.runs:
            run.go_on()

    def _tell(self, kind: str, run: OpenRun | None) -> None:
        for callback in list(self._callbacks.values()):
            callback(kind, run)


_open: "WeakSet[Library]" = WeakSet()


@atexit.register
def _close_all() -> None:
    """Close the libraries that a program left open: a thread in native code would abort the exiting process."""
    for library in [*_open]:
        library.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)  # the threads and processes stay with the parent


def names_in(paths: Iterable[Path]) -> dict[str, set[str]]:
    """The names of the entries of each path that is a folder, by its real path."""
    names = {}
    for path in paths:
        with suppress(OSError, RuntimeError, ValueError):  # a file, or a folder that is missing for a while
            folder = str(path.expanduser().resolve(strict=True))
            with folder_entries(Location(folder, folder)) as listing:
                names[folder] = {entry.name for entry in listing}
    return names


def _only(run_id: str, find: Callable[..., Discovery], *how: Any) -> Discovery:
    """Find the run with an id. Raises `NotFound` without it."""
    discovery = find(*how)
    ids = ids_of(discovery.runs)
    runs = [
        msgspec.structs.replace(info, reading=msgspec.structs.replace(info.reading, metrics_by_name=False))
        for id_, info in zip(ids, discovery.runs, strict=True)
        if id_ == run_id
    ]
    if discovery.runs and not runs:
        raise _no_run(run_id, ids)
    return Discovery(runs, discovery.notes)


def _no_run(run_id: str, ids: Sequence[str]) -> NotFound:
    return NotFound(f"no run {run_id!r} is open; open runs: {', '.join(ids[:10]) or 'none'}")


def _digest(info: RunInfo, *, with_format: bool = False) -> str:
    place = "\n".join(place_of_run(info)[0 if with_format else 1 :])
    return hashlib.blake2b(place.encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()


def plain_id(info: RunInfo) -> str:
    """The id of a run whose name no other run has."""
    return info.name.replace("/", "_").strip(".") or "run"


def ids_of(runs: Sequence[RunInfo], are_hidden: bool = False) -> list[str]:
    """An id for each run: its name, and if names repeat, a few hex digits of a hash of its path.

    If some runs are hidden from people, the digits always follow, and the hash includes the format.
    """
    names = [plain_id(info) for info in runs]
    times, ids = Counter(names), dict[str, None]()
    for name, info in zip(names, runs, strict=True):
        run_id = name if times[name] == 1 else f"{name}-{_digest(info)}"
        run_id = f"{name}-{_digest(info, with_format=True)}" if are_hidden else run_id
        while run_id in ids:  # a run of another format at the same place
            run_id += "+"
        ids[run_id] = None
    return list(ids)


def _changed_s(place: str) -> float:
    """When a run's folder changed; 0 if it is remote or gone."""
    try:
        return 0.0 if is_remote(place) else os.stat(place).st_mtime
    except OSError:
        return 0.0
