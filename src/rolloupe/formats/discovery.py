"""From paths to runs: walks down from each path, asks every format, and notes why it did not open the rest.

The walk is bounded and uses names alone; only formats look into files. It follows links that lead out of a root only on
request, and follows no link twice.
"""

import contextlib
import errno
import math
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe import storage
from rolloupe.errors import NotRecognised, UnreadablePath, words_of
from rolloupe.formats import token_texts, unreadable
from rolloupe.formats.base import Format
from rolloupe.formats.curve_files import ALONE, OF_TRACKERS, UNSEEN, has_more_splits, hosts_of, usual_tables
from rolloupe.formats.reading.files import FolderEntry, alone, entries, forget, is_utf8, listing_once, stem, why_shut
from rolloupe.formats.registry import BUILT_IN, all_formats, by_name, other_formats
from rolloupe.model import AS_FOUND, Location, Reading, RunInfo, TokenizerFile
from rolloupe.storage import is_file

MAX_DEPTH = 6
MAX_FOLDERS, MAX_FOLDERS_OF_RUNS = 20_000, 200_000
"""The limit for folders of runs, which are counted separately: many runs have several."""
MAX_NOTES = 500
STORE_S = 20.0
"""A walk in a store ends this long after it found its last run: stores may hold endless folders."""
OF_PROGRAMS = (".log",)
"""Logs of programs: each run of Weights & Biases has links to such files elsewhere, which need no note."""

SHOWN_HIDDEN = {".art"}
"""ART writes its runs into a hidden folder."""

SKIPPED = {"node_modules", "__pycache__"}


class Note(NamedTuple):
    """A place that was not opened, and why."""

    path: str
    reason: str
    is_late: bool = False
    """True if the walk ran out of time before it reached this place."""


class Discovery(NamedTuple):
    """The runs and notes that a walk collected."""

    runs: list[RunInfo]
    notes: list[Note]


def discover(
    paths: Sequence[Path],
    reading: Reading = AS_FOUND,
    within_s: float | None = None,
    on_find: Callable[[RunInfo], object] | None = None,
    is_over: Callable[[], bool] | None = None,
    *,
    names_repeat: bool = False,
) -> Discovery:
    """Find the runs at and below some paths: folders or files.

    After `within_s` seconds, or once `is_over` returns True, the search ends and a note says what remains. With
    `names_repeat`, several runs may have one name. Calls `on_find` with each run as soon as it is found: its name may
    repeat, and it may become a part of another run later.

    Raises `UnreadablePath` for a path or tokenizer that is missing or may not be read, and `NotRecognised` if
    the requested format does not exist or reads nothing there. A field map applies to the generic format.
    """
    choice = token_texts.TokenizerChoice(reading)
    is_forced = bool(reading.format or reading.fields)
    asked = [by_name(reading.format)] if reading.format else all_formats()
    formats = [reader for reader in asked if reading.format or reader.takes_field_map or not reading.fields]
    tokenizers = dict[tuple[str, ...], TokenizerFile | None]()

    metrics = tuple(str(_existing(Path(path))) for path in reading.metrics)
    of_several = replace(reading, metrics=metrics, metrics_by_name=True)

    def whole(run: RunInfo, how: Reading) -> RunInfo:
        if (key := (run.format, run.root, run.within)) not in tokenizers:
            tokenizers[key] = choice.of(run)
        links = run.link_root
        if how.links_stay_in_run:
            links = run.root
            with contextlib.suppress(ValueError):  # another package may name parts oddly
                links = os.path.commonpath([run.root, *(part.path for part in run.parts)])
        return replace(run, reading=how, tokenizer=tokenizers[key], link_root=links)

    def tell(run: RunInfo) -> None:
        if on_find is not None and by_name(run.format).has_samples and run.format not in OF_TRACKERS:
            on_find(whole(run, of_several))

    ends_s = math.inf if within_s is None else time.monotonic() + within_s
    walk = _Walk(formats, reading, ends_s, tell, is_over or (lambda: False))
    single: list[RunInfo] = []
    for path in paths:
        place = _existing(path) if is_forced else walk.run_around(_existing(path))
        if storage.is_folder(place):
            walk.root(place)
        else:
            single += walk.file(place)
    runs = walk.without_curves_of_others(walk.joined(_unique([*walk.runs, *_merged(single)])))
    runs = runs if names_repeat else distinct(runs)
    if is_forced and not runs and not walk.is_late:
        tried = ", ".join(str(path) for path in paths)
        names = " or ".join(reader.name for reader in formats)
        raise NotRecognised(f"{names} reads nothing at {tried}. Next: rolloupe doctor, without --format")
    notes = [
        Note(broken.origin, f"its format {broken.name} could not be loaded: {broken.reason}")
        for broken in other_formats().broken
    ]
    how = of_several if len(runs) > 1 else replace(of_several, metrics_by_name=False)
    runs = [whole(run, how) for run in runs]
    return Discovery(runs, notes + walk.notes + [Note(*pair) for pair in choice.notes])


def discover_begun(paths: Sequence[Path], *limits: Any, **options: Any) -> Discovery:
    """Find runs as `discover` does; a missing path, or one where a format reads nothing, becomes a note."""
    present = [path for path in paths if not _is_to_come(path)]
    notes = [Note(str(path), "does not exist yet") for path in paths if path not in present]
    if not present:
        return Discovery([], notes)
    try:
        found = discover(present, *limits, **options)
    except NotRecognised as error:
        return Discovery([], [*notes, Note(str(present[0]), str(error))])
    return Discovery(found.runs, notes + found.notes)


def may_begin(path: Path) -> bool:
    """Return whether a run may begin at a path later: a folder, an empty file, or a name in a folder that exists."""
    place = storage.place_of(path).expanduser()
    return storage.is_folder(place) or _is_to_come(path) or (is_file(place) and not storage.path_state(place).st_size)


def _is_to_come(path: Path) -> bool:
    place = storage.place_of(path).expanduser().absolute()
    try:
        storage.path_state(place)
    except FileNotFoundError:
        return storage.is_folder(place.parent) and not storage.is_remote(place)
    except OSError:
        pass
    return False


def _existing(path: Path) -> Path:
    if storage.is_remote(place := storage.place_of(path)):
        try:
            storage.path_state(place)
        except OSError as error:
            reason = error.strerror or str(error)
            step = "" if "Next:" in reason else ". Next: check the address"
            raise UnreadablePath(f"{storage.address_of(place)}: {reason}{step}") from None
        return place
    try:
        place = path.expanduser().resolve(strict=True)
        readable = os.access(place, os.R_OK | (os.X_OK if storage.is_folder(place) else 0))
    except (OSError, RuntimeError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise UnreadablePath(f"{path} {reason}. Next: check the path") from None
    if not readable:
        raise UnreadablePath(f"{path} may not be read by this user. Next: check its permissions")
    if not (storage.is_folder(place) or is_file(place)):
        raise UnreadablePath(f"{path} is neither a folder nor a regular file. Next: name one that is")
    if not is_utf8(str(place)):
        raise UnreadablePath(f"{storage.printable(str(place))}: its name is not valid UTF-8. Next: rename it")
    return Path(storage.real_path(str(place)))


class _Walk:
    """One walk over the roots: collects runs and notes."""

    def __init__(
        self,
        formats: Sequence[Format],
        reading: Reading,
        ends_s: float,
        on_find: Callable[[RunInfo], object],
        is_over: Callable[[], bool],
    ) -> None:
        self.runs: list[RunInfo] = []
        self.notes: list[Note] = []
        self._formats = formats
        self._reading = reading
        self._forced = bool(reading.format or reading.fields)
        self._on_find, self._is_over = on_find, is_over
        self.is_late = False
        """True once the walk skipped something for lack of time."""
        self._ends_s = ends_s
        self._patience_s, self._found_s = math.inf, 0.0
        """How long the walk continues without a new run, and when it found the last one."""
        self._link_root = ""
        self._claimed: set[str] = set()
        self._seen: set[tuple[int, int]] = set()
        self._empty: list[str] = []
        self._of_curves: set[str] = set()
        """Folders that a run without samples claims for its curves; they may hold samples nevertheless."""
        self._whole: set[str] = set()
        """Folders that a format claims as a whole, with everything inside."""

    def run_around(self, place: Path) -> Path:
        """The run that contains this place; the place itself if no run does."""
        for reader in self._formats:
            with self._trying(reader, place):
                if path := reader.run_around(place):
                    if not isinstance(path, Path):
                        raise TypeError(f"run_around returned {type(path).__name__}, not a path")
                    return path
        return place

    def joined(self, runs: list[RunInfo]) -> list[RunInfo]:
        """Join the runs that their format recognises as parts of one."""
        for reader in self._formats:
            members = [run for run in runs if run.format == reader.name]
            with self._trying(reader, Path()):
                if members and (joined := reader.joined(members)) != members:
                    others = [run for run in runs if run.format != reader.name]
                    places = {(run.format, run.root): number for number, run in enumerate(runs)}
                    runs = sorted([*others, *joined], key=lambda run: places.get((run.format, run.root), len(places)))
        return runs

    def without_curves_of_others(self, runs: list[RunInfo]) -> list[RunInfo]:
        """Leave out tracker runs that are curves of other runs, with a note for each that has samples."""
        left_out: set[int] = set()
        for run, host in hosts_of(runs):
            with self._trying(by_name(host.format), Path(host.root)):
                if run.format == ALONE:
                    left_out.add(id(run))
                elif not has_more_splits(run, host):
                    left_out.add(id(run))
                    self._note(run.root, UNSEEN.format(name=host.name))
        return [run for run in runs if id(run) not in left_out]

    def file(self, path: Path) -> list[RunInfo]:
        """The run in one file, if it is a run."""
        self._link_root = ""
        runs = self._ask(path, [reader for reader in self._formats if unreadable.is_asked(reader, path.name)])
        if not runs:
            reason = unreadable.reason_for(path.name, alone(path), is_named=True)
            self._note(str(path), reason or "no format recognises what it holds")
        return runs

    def root(self, path: Path) -> None:
        """Walk down from a folder that a person named."""

        def check_time(folder: str) -> None:
            """Raise `Interrupted` before a format lists a folder of a store, once the time is over."""
            if self._is_late():
                raise storage.Interrupted(errno.ETIMEDOUT, "time was over", folder)

        is_in_store = storage.is_remote(path)
        self._patience_s, self._found_s = STORE_S if is_in_store else math.inf, time.monotonic()
        with listing_once(check_time if is_in_store else str):
            self._walk(path)

    def _walk(self, path: Path) -> None:
        self._link_root = os.sep if self._reading.follow_symlinks else str(path)
        before = len(self.runs), len(self.notes)
        waiting = [(str(path), 0)]
        walked = of_runs = 0
        while waiting:
            folder, depth = waiting.pop()
            is_of_run = folder in self._claimed
            walked, of_runs = walked + (not is_of_run), of_runs + is_of_run
            if self._is_late():
                folders = "1 folder" if not waiting else f"{len(waiting) + 1} folders"
                self._note_late(str(path), f"{folders} and what is below were not looked at")
                break
            if walked > MAX_FOLDERS or of_runs > MAX_FOLDERS_OF_RUNS:
                most = f"{MAX_FOLDERS_OF_RUNS} folders of runs" if is_of_run else f"{MAX_FOLDERS} folders"
                self._note(str(path), f"more than {most}: the rest was not looked at. Next: name a folder below")
                break
            below = self._visit(folder)
            forget(folder)
            if depth < MAX_DEPTH:
                waiting += [(name, depth + 1) for name in reversed(below)]
            elif below:
                self._note(folder, f"more than {MAX_DEPTH} folders down: not looked below. Next: name this folder")
        empty, self._empty = self._empty, []
        if len(empty) == 1:
            self._note(empty[0], "an empty folder")
        elif empty:
            shown = ", ".join(os.path.relpath(folder, path) for folder in empty[:3])
            self._note(str(path), f"{len(empty)} empty folders ({shown}{', ...' if len(empty) > 3 else ''})")
        if before == (len(self.runs), len(self.notes)):
            next_step = "Next: name the folder of a run; docs/formats.md says what is read"
            self._note(str(path), f"nothing here that a format reads. {next_step}")

    def _is_late(self) -> bool:
        now = time.monotonic()
        return now > self._ends_s or now > self._found_s + self._patience_s or self._is_over()

    def _visit(self, folder: str) -> list[str]:
        """Look at one folder; return its subfolders to visit."""
        if folder in self._whole:
            return []
        try:
            state = storage.path_state(folder)
            listed = entries(folder, self._link_root)
        except OSError as error:
            self._note(folder, why_shut(error))
            return []
        if (state.st_dev, state.st_ino) in self._seen:
            return []
        self._seen.add((state.st_dev, state.st_ino))
        if not listed:
            self._empty.append(folder)
        elif folder not in self._claimed:
            self._claim(self._ask(Path(folder), self._formats))
        elif folder in self._of_curves:
            self._claim(self._ask(Path(folder), [reader for reader in self._formats if reader.has_samples]))
        self._note_unread(folder, listed)
        shown = [entry for entry in listed if entry.is_folder and not entry.refused and entry.name not in SKIPPED]
        shown = [entry for entry in shown if entry.name in SHOWN_HIDDEN or not entry.name.startswith(".")]
        return [os.path.realpath(entry.path) if entry.is_link else entry.path for entry in shown]

    def _ask(self, path: Path, formats: Sequence[Format]) -> list[RunInfo]:
        """The runs of the first format that finds any, and of later ones whose runs are single files of a folder."""
        found: list[RunInfo] = []
        for reader in formats:
            if found and not reader.takes_single_files:
                continue
            try:
                runs = _checked(reader, reader.detect(path, forced=self._forced, link_root=self._link_root) or [])
            except storage.Interrupted:
                if not self._is_late():
                    raise
                self._note_late(str(path), "not all folders in it were looked at")
                break
            except (Exception, SystemExit) as error:
                self._failed(reader, path, error)
                continue
            is_whole = any(not by_name(run.format).takes_single_files for run in found)
            found += [run for run in runs if not (is_whole and run.root == str(path))]
        return found

    def _claim(self, runs: list[RunInfo]) -> None:
        if runs:
            self._found_s = time.monotonic()
        for run in runs:
            self.runs.append(run)
            self._claimed |= {run.root, *(os.path.realpath(part.path) for part in run.parts)}
            reader = by_name(run.format)
            with self._trying(reader, Path(run.root)):
                as_asked = replace(run, reading=self._reading)
                paths = [source.path for source in reader.sources(as_asked)]
                folder = run.root if storage.is_folder(run.root) else os.path.dirname(run.root)
                paths += [os.path.join(folder, *file.name.split("/")) for file in reader.files(run) if file.what]
                self._claimed.update(paths, map(os.path.dirname, paths), usual_tables(run))
                if not reader.has_samples:
                    self._of_curves |= {os.path.dirname(path) for path in paths} - {run.root}
                self._claimed.update(place.path for place in reader.tokenizers(run) if isinstance(place, Location))
                self._whole.update(path for path in paths if storage.is_folder(path))
            self._on_find(run)

    @contextlib.contextmanager
    def _trying(self, reader: Format, path: Path) -> Iterator[None]:
        """Report exceptions through `_failed`."""
        try:
            yield
        except storage.Interrupted:
            if not self._is_late():
                raise
            self._note_late(str(path), "not all of its files were looked at")
        except (Exception, SystemExit) as error:
            self._failed(reader, path, error)

    def _failed(self, reader: Format, path: Path, error: BaseException) -> None:
        """Note the exception of a format from another package; an exception of Rolloupe's own formats is a defect."""
        if reader.name in BUILT_IN:
            raise error
        self._note(str(path), f"the format {reader.name} failed here: {words_of(error)}")

    def _note_unread(self, folder: str, listed: Sequence[FolderEntry]) -> None:
        for entry in listed:
            if entry.refused and not entry.name.endswith(OF_PROGRAMS):
                self._note(storage.printable(entry.path), entry.refused)
        files = [entry for entry in listed if not (entry.refused or entry.is_folder)]
        queue = deque(entry for entry in files if entry.path not in self._claimed)

        def in_time() -> Iterator[FolderEntry]:
            while queue and not self._is_late():
                yield queue.popleft()

        for reason in unreadable.reasons(in_time(), {entry.name for entry in files}):
            self._note(folder, reason)
        if queue:
            number = "a file was" if len(queue) == 1 else f"{len(queue)} files were"
            self._note_late(folder, f"{number} not looked at, from {queue[0].name} on")

    def _note_late(self, path: str, what: str) -> None:
        """Note a place that was not looked at, even beyond the limit of notes: it makes the list incomplete."""
        self.is_late = True
        reason = f"time was over: {what}. Next: try again, or name a part of it"
        self.notes.append(Note(storage.address_of(path), reason, is_late=True))

    def _note(self, path: str, reason: str) -> None:
        path = storage.address_of(path)
        if len(self.notes) < MAX_NOTES:
            self.notes.append(Note(path, reason))
        elif len(self.notes) == MAX_NOTES:
            self.notes.append(
                Note(path, f"more than {MAX_NOTES} notes: the rest is left out. Next: name a folder below")
            )


def _checked(reader: Format, runs: object) -> list[RunInfo]:
    """The runs that a format returned. Raises `TypeError` for anything else."""
    if not isinstance(runs, list):
        raise TypeError(f"detect returned {type(runs).__name__}, not a list")
    for run in runs:
        if not (isinstance(run, RunInfo) and run.format == reader.name):
            raise TypeError(f"detect returned something else than runs of {reader.name}")
        storage.path_state(run.root)
    return runs


def _unique(runs: Iterable[RunInfo]) -> list[RunInfo]:
    """Drop duplicates: one path may lie below another."""
    return list({(run.format, run.root, run.within, run.parts): run for run in runs}.values())


def _merged(runs: Sequence[RunInfo]) -> list[RunInfo]:
    """Join individually named files of one folder and one format into one run."""
    merged: dict[tuple[str, str, str], list[RunInfo]] = {}
    for run in _unique(runs):
        merged.setdefault((run.format, os.path.dirname(run.root), run.within), []).append(run)
    return [run if not others else _of_files([run, *others]) for run, *others in merged.values()]


def _of_files(members: Sequence[RunInfo]) -> RunInfo:
    folder = os.path.dirname(members[0].root)
    parts = tuple(part for member in members for part in member.parts)
    reason = f"{len(members)} files of one folder; of the first: {members[0].reason}"
    return replace(members[0], name=os.path.basename(folder), root=folder, parts=parts, reason=reason, link_root="")


def distinct(runs: list[RunInfo]) -> list[RunInfo]:
    """Prefix repeated names with parent folders until they differ."""
    counts = Counter(run.name for run in runs)
    names = [run.name for run in runs]
    for above in range(1, MAX_DEPTH + 1):
        if len(set(names)) == len(names):
            break
        for number, run in enumerate(runs):
            if counts[run.name] > 1:
                root = Path(run.root)
                chain = [stem(root.name), *(parent.name for parent in root.parents if parent.name)]
                place = chain.index(run.name) if run.name in chain else 0
                names[number] = "-".join([*reversed(chain[place + 1 : place + 1 + above]), run.name])
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
