"""The files of a folder, without links that lead out of the opened root. Looks at names, opens nothing."""

import os
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from rolloupe.model import Location, RunInfo
from rolloupe.storage import folder_entries, is_below, printable

JSONL = (".jsonl", ".ndjson")
COMPRESSED = (".zst", ".gz")
"""Suffixes that may follow any other; of two files that differ in nothing else, the first of these counts."""


class FolderEntry(NamedTuple):
    """A file or folder in a listing; `refused` is the reason not to open it, empty if it may be opened."""

    name: str
    path: str
    is_folder: bool
    inode: int
    root: str
    refused: str = ""

    @property
    def location(self) -> Location:
        """The place to open."""
        return Location(self.path, self.root)


T = TypeVar("T")

_known: ContextVar[dict[Hashable, object] | None] = ContextVar("known", default=None)


def links_of(run: RunInfo) -> str:
    """Return the folder below which the links of a run may lead."""
    return run.link_root or run.root


@contextmanager
def listing_once() -> Iterator[None]:
    """List each folder once within this context, however many formats list it; and make once what `once` makes."""
    known = _known.get()
    token = _known.set({} if known is None else known)
    try:
        yield
    finally:
        _known.reset(token)


def once(key: Hashable, make: Callable[[], T]) -> T:
    """Return what `make` returned for this key within `listing_once`; outside of it, what it returns now."""
    known = _known.get()
    if known is None:
        return make()
    if key not in known:
        known[key] = make()
    return cast("T", known[key])


def entries(folder: str, link_root: str) -> list[FolderEntry]:
    """List a folder in the order of names. Raises OSError if the folder cannot be read."""
    return once(("entries", folder, link_root), lambda: _entries(folder, link_root))


def _entries(folder: str, link_root: str) -> list[FolderEntry]:
    found = []
    with folder_entries(Location(folder, link_root)) as listing:
        for entry in listing:
            path = os.path.join(folder, entry.name)
            refused = _refusal(entry, path, link_root)
            is_folder = not refused and entry.is_dir()
            if not (refused or is_folder or entry.is_file()):
                refused = "neither a file nor a folder but a pipe, a socket or a device"
            found.append(FolderEntry(entry.name, path, is_folder, entry.inode(), link_root, refused))
    return sorted(found)


def _refusal(entry: os.DirEntry[str], path: str, link_root: str) -> str:
    if not is_utf8(entry.name):
        return "its name is not valid UTF-8. Next: rename it"
    if not entry.is_symlink():
        return ""
    try:
        target = os.path.realpath(path, strict=True)
    except OSError:
        return "a link that leads nowhere"
    if is_below(target, link_root):
        return ""
    return f"a link out of the root, to {printable(target)}: not followed. Next: --follow-symlinks"


def is_utf8(path: str) -> bool:
    """Return whether a path can be shown, sent and stored as text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def alone(path: Path | str) -> Location:
    """The location of a file that a person named: it is its own root."""
    return Location(str(path), str(path))


def files(folder: str, link_root: str, suffixes: tuple[str, ...] = JSONL) -> list[FolderEntry]:
    """List the files of a folder by their suffixes; empty if the folder is missing or lies outside the root.

    The suffix before a compression suffix counts. If a file exists both plain and compressed, as while a writer seals
    it, only the plain one is listed.
    """
    try:
        listed = once(("files", folder, link_root), lambda: _plain_files(folder, link_root))
    except OSError:
        return []
    return _sealed_once([entry for plain, entry in listed if plain.endswith(suffixes)])


def _plain_files(folder: str, link_root: str) -> list[tuple[str, FolderEntry]]:
    """The files of a folder with their names without compression suffixes."""
    return [(plain_name(one.name), one) for one in entries(folder, link_root) if not (one.is_folder or one.refused)]


def file_of(folder: str, name: str, link_root: str) -> Location | None:
    """Return the location of the file of that name, compressed or not; None without a readable one."""
    return next((one.location for one in files(folder, link_root, (name,)) if plain_name(one.name) == name), None)


def _sealed_once(listed: list[FolderEntry]) -> list[FolderEntry]:
    names = {entry.name for entry in listed}
    return [entry for entry in listed if not is_passed_over(entry.name, names)]


def is_passed_over(name: str, names: Collection[str]) -> bool:
    """Return whether another file of the folder takes precedence: plain, or compressed with a preferred suffix."""
    if not (kind := compression_of(name)):
        return False
    plain, before = name.removesuffix(kind), COMPRESSED[: COMPRESSED.index(kind)]
    return any(other in names for other in (plain, *(plain + ending for ending in before)))


def folders(folder: str, link_root: str) -> list[FolderEntry]:
    """List the folders in a folder; empty if it is missing."""
    try:
        listed = entries(folder, link_root)
    except OSError:
        return []
    return [e for e in listed if e.is_folder and not e.refused]


def why_shut(error: OSError) -> str:
    """Say that a file or a folder could not be read, and what to do."""
    step = "allow it to be read" if isinstance(error, PermissionError) else "check the disk"
    return f"could not be read: {error.strerror or error}. Next: {step}"


def compression_of(name: str) -> str:
    """Return the compression suffix, empty for a plain file."""
    return name[name.rfind(".") :] if name.endswith(COMPRESSED) else ""


def plain_name(name: str) -> str:
    """Return a file's name without its compression suffix."""
    return name.removesuffix(compression_of(name))


def stem(name: str) -> str:
    """Return a file's name without `.jsonl`, compressed or not.

    Other suffixes stay, so that no two listed files of a folder share a stem.
    """
    return plain_name(name).removesuffix(".jsonl")
