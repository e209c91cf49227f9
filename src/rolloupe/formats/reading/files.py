"""Lists the files of a folder, without links that lead out of the opened root, and splits names into words."""

import errno
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from rolloupe.model import Location, RunInfo, Source
from rolloupe.storage import StorageEntry, folder_entries, is_below, is_file, path_state, printable, stamp_of_state

JSONL = (".jsonl", ".ndjson")
COMPRESSED = (".zst", ".gz")
"""Compression suffixes, which may follow any other; of files that differ only in these, the first one counts."""


class FolderEntry(NamedTuple):
    """A file or folder in a listing; `refused` is the reason not to open it, empty if it may be opened."""

    name: str
    path: str
    is_folder: bool
    inode: int
    root: str
    refused: str = ""
    is_link: bool = False

    @property
    def location(self) -> Location:
        return Location(self.path, self.root)


T = TypeVar("T")
P = ParamSpec("P")


class FolderView:
    """The entries of a folder as they were when it was listed."""

    def __init__(self, entries: list[FolderEntry]) -> None:
        self.entries = entries
        self._files: dict[tuple[str, ...], list[FolderEntry]] = {}

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)

    @cached_property
    def folders(self) -> list[FolderEntry]:
        return [entry for entry in self.entries if entry.is_folder and not entry.refused]

    @cached_property
    def plain(self) -> dict[str, FolderEntry]:
        """The files by their names without compression suffixes, each once."""
        shown = [entry for entry in self.entries if not (entry.is_folder or entry.refused)]
        names = {entry.name for entry in shown}
        return {plain_name(entry.name): entry for entry in shown if not is_passed_over(entry.name, names)}

    def files(self, suffixes: tuple[str, ...]) -> list[FolderEntry]:
        if suffixes not in self._files:
            self._files[suffixes] = [entry for plain, entry in self.plain.items() if plain.endswith(suffixes)]
        return self._files[suffixes]


class _Known:
    """The views and results shared within `listing_once`."""

    def __init__(self, on_list: Callable[[str], object], is_hidden: Callable[[str, str], bool]) -> None:
        self.on_list, self.is_hidden = on_list, is_hidden
        self.views: dict[tuple[str, str], FolderView] = {}
        self.folders: set[str] = set()
        self.made: dict[Hashable, object] = {}


_known: ContextVar[_Known | None] = ContextVar("known", default=None)


def links_of(run: RunInfo) -> str:
    """Return the folder below which the links of a run may lead."""
    return run.link_root or run.root


def _is_never_hidden(_folder: str, _name: str) -> bool:
    return False


@contextmanager
def listing_once(
    on_list: Callable[[str], object] = str, is_hidden: Callable[[str, str], bool] = _is_never_hidden
) -> Iterator[None]:
    """Within this context, list each folder only once for all formats, and call each `make` of `once` only once.

    Calls `on_list` with each folder before it is listed. Listings omit a name if `is_hidden(folder, name)`
    returns True.
    """
    token = _known.set(_known.get() or _Known(on_list, is_hidden))
    try:
        yield
    finally:
        _known.reset(token)


def once(key: Hashable, make: Callable[[], T]) -> T:
    """Return the result of `make`, called once for this key within `listing_once`, else each time."""
    known = _known.get()
    if known is None:
        return make()
    if key not in known.made:
        known.made[key] = make()
    return cast("T", known.made[key])


def entries(folder: str, link_root: str) -> list[FolderEntry]:
    """List a folder in the order of names. Raises OSError if the folder cannot be read."""
    return view_of(folder, link_root).entries


def view_of(folder: str, link_root: str) -> FolderView:
    """Return the view of a folder, shared within `listing_once`. Raises OSError if the folder cannot be read."""
    known = _known.get()
    if known is None:
        return FolderView(list_entries(folder, link_root))
    key = folder, link_root
    if key not in known.views:
        above, name = os.path.split(folder)
        beside = known.views.get((above, link_root))
        if beside is not None and name not in beside.names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        known.on_list(folder)
        known.views[key] = FolderView(list_entries(folder, link_root, known.is_hidden))
        known.folders.add(folder)
    return known.views[key]


def forget(folder: str) -> None:
    """Drop the views of a folder within `listing_once`, after a walk has left it."""
    if (known := _known.get()) is not None:
        known.folders.discard(folder)
        for key in [key for key in known.views if key[0] == folder]:
            del known.views[key]


def is_one_file(path: Path | str) -> bool:
    """Return whether a path leads to a regular file; a folder that was listed within `listing_once` is known."""
    known = _known.get()
    return not (known is not None and str(path) in known.folders) and is_file(path)


def _view_or_nothing(folder: str, link_root: str) -> FolderView:
    try:
        return view_of(folder, link_root)
    except OSError:
        return FolderView([])


def list_entries(
    folder: str, link_root: str, is_hidden: Callable[[str, str], bool] = _is_never_hidden
) -> list[FolderEntry]:
    """List a folder now, in the order of names: see `entries`, which lists it once within `listing_once`."""
    listed = []
    with folder_entries(Location(folder, link_root)) as listing:
        for entry in (item for item in listing if not is_hidden(folder, item.name)):
            path = os.path.join(folder, entry.name)
            refused = _refusal(entry, path, link_root)
            is_folder = not refused and entry.is_dir()
            if not (refused or is_folder or entry.is_file()):
                refused = "neither a file nor a folder but a pipe, a socket or a device"
            is_link = entry.is_symlink()
            listed.append(FolderEntry(entry.name, path, is_folder, entry.inode(), link_root, refused, is_link))
    return sorted(listed)


def _refusal(entry: StorageEntry, path: str, link_root: str) -> str:
    """Say why an entry must not be opened; empty if it may be."""
    if not is_utf8(entry.name):
        return "its name is not valid UTF-8. Next: rename it"
    if not entry.is_symlink():
        return ""
    try:
        target = os.path.realpath(path, strict=True)
    except OSError:
        return "a link that leads nowhere"
    outside = f"a link out of the root, to {printable(target)}: not followed. Next: --follow-symlinks"
    return "" if is_below(target, link_root) else outside


def is_utf8(path: str) -> bool:
    """Return whether a path can be shown, sent and stored as text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def alone(path: Path | str) -> Location:
    """Return the location of a file that a person named: it is its own root."""
    return Location(str(path), str(path))


def files(folder: str, link_root: str, suffixes: tuple[str, ...] = JSONL) -> list[FolderEntry]:
    """List the files of a folder by their suffixes; empty if the folder is missing or lies outside the root.

    The suffix before a compression suffix counts. If a file exists both plain and compressed, as while a writer seals
    it, only the plain one is listed.
    """
    return _view_or_nothing(folder, link_root).files(suffixes).copy()


def files_at(path: Path, link_root: str, suffixes: tuple[str, ...] = JSONL) -> list[Location]:
    """List the file that a person named, or the files of a folder, by their suffixes: see `files`."""
    if is_one_file(path):
        return [alone(path)] if plain_name(path.name).endswith(suffixes) else []
    return [entry.location for entry in files(str(path), link_root, suffixes)]


def file_of(folder: str, name: str, link_root: str) -> Location | None:
    """Return the location of the file of that name, compressed or not; None without a readable one."""
    entry = _view_or_nothing(folder, link_root).plain.get(name)
    return entry.location if entry else None


def is_passed_over(name: str, names: Collection[str]) -> bool:
    """Return whether another file of the folder takes precedence: plain, or compressed with a preferred suffix."""
    if not (kind := compression_of(name)):
        return False
    plain, before = name.removesuffix(kind), COMPRESSED[: COMPRESSED.index(kind)]
    return any(other in names for other in (plain, *(plain + ending for ending in before)))


def folders(folder: str, link_root: str) -> list[FolderEntry]:
    """List the folders in a folder; empty if it is missing."""
    return _view_or_nothing(folder, link_root).folders.copy()


def stamp_of(location: Location) -> tuple[int, int, int]:
    """Return inode, size and time of a file, which change with its content. Raises OSError."""
    return stamp_of_state(path_state(location.path))


def while_unchanged(
    size: int,
    states: Callable[[Location], Iterable[int]] = stamp_of,
    *,
    errors: tuple[type[BaseException], ...] = (),
    otherwise: Any = None,
) -> Callable[[Callable[Concatenate[Location, P], T]], Callable[Concatenate[Location, P], T]]:
    """Cache the result of a function of a file until the file changes, for `size` files. Raises OSError if it is gone.

    If the function raises one of the `errors`, the result is `otherwise`.
    """

    def decorate(read: Callable[Concatenate[Location, P], T]) -> Callable[Concatenate[Location, P], T]:
        @lru_cache(maxsize=size)
        def kept(_states: tuple[int, ...], location: Location, *args: Any, **kwargs: Any) -> T:
            return read(location, *args, **kwargs)

        @wraps(read)
        def current(location: Location, *args: Any, **kwargs: Any) -> T:
            try:
                return kept(tuple(states(location)), location, *args, **kwargs)
            except errors:
                return cast("T", otherwise)

        return cast("Callable[Concatenate[Location, P], T]", current)

    return decorate


def why_shut(error: OSError) -> str:
    """Say that a file or a folder could not be read, and what to do."""
    reason = f"could not be read: {error.strerror or error}"
    step = "allow it to be read" if isinstance(error, PermissionError) else "check the disk"
    return reason if "Next:" in reason else f"{reason}. Next: {step}"


def cause_of(error: BaseException) -> str:
    """Say why a file could not be read, in the words of the system or of the error."""
    return f"could not be read: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)


def compression_of(name: str) -> str:
    """Return the compression suffix, empty for a plain file."""
    return name[name.rfind(".") :] if name.endswith(COMPRESSED) else ""


def plain_name(name: str) -> str:
    """Return a file's name without its compression suffix."""
    return name.removesuffix(compression_of(name))


def folder_of(run: RunInfo) -> str:
    """Return the folder of a run, or the folder around a run that is one file."""
    return os.path.dirname(run.root) if is_file(run.root) else run.root


def telling_name(folder: Path, silent: Collection[str] = ()) -> str:
    """Return the name of a folder, or of the nearest folder above it with a name that is not `silent`: without these,
    one that has other words than `SILENT_WORDS`.
    """
    names = (place.name for place in (folder, *folder.parents) if place.name)
    telling = (name for name in names if not (name in silent if silent else SILENT_WORDS.issuperset(words_in(name))))
    return next(telling, folder.name or str(folder))


def source_at(run: RunInfo, place: Location, **facts: Any) -> Source:
    """Return a file as a source, named relative to the run's folder; a file beside it, by its own folder's name."""
    folder, name = os.path.split(place.path)
    if place.path != run.root and is_below(place.path, run.root):
        name = place.path.removeprefix(os.path.join(run.root, "")).replace(os.sep, "/")
    elif place.path != run.root:
        name = f"{os.path.basename(folder)}/{name}"
    return Source(path=place.path, name=name, root=place.root, **facts)


def file_count(files: Sized) -> str:
    """Return how many files there are, in words."""
    return "one file" if len(files) == 1 else f"{len(files):,} files"


def counted(some: Sized, noun: str = "file") -> str:
    """Return how many files, or other things, there are, in digits: `1 file`, `2 files`."""
    return f"{len(some)} {noun}{'' if len(some) == 1 else 's'}"


def stem(name: str) -> str:
    """Return a file's name without `.jsonl`, compressed or not.

    Other suffixes stay, so that no two listed files of a folder share a stem.
    """
    return plain_name(name).removesuffix(".jsonl")


EVAL_WORDS = frozenset(("eval", "evals", "evaluation", "val", "valid", "validation", "test", "heldout", "holdout"))
TRAIN_WORDS = frozenset(("train", "training"))
SAMPLE_WORDS = {*"batches completions dump dumps episodes generated generation generations rollout rollouts samples "
                 "steps trajectories".split()}  # fmt: skip
NEUTRAL_WORDS = SAMPLE_WORDS | {"data", "dir", "log", "logs", "output", "outputs", "result", "results"}
"""Words that distinguish neither runs nor splits."""
SILENT_WORDS = NEUTRAL_WORDS | TRAIN_WORDS | EVAL_WORDS
"""Words that do not distinguish runs."""
_WORD_BREAK = re.compile(r"[_\-.\s]+")


def words_in(part: str) -> list[str]:
    """Return the words in the name of a file or folder, in lower case."""
    return [word for word in _WORD_BREAK.split(part.lower()) if word]
