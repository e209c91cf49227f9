"""The files of a folder, with links that lead out of the opened root left aside. Looks at names, opens nothing."""

import os
from typing import NamedTuple

from rolloupe.model import RunInfo

JSONL = (".jsonl", ".ndjson")
COMPRESSED = (".zst", ".gz")
"""Endings that may stand behind any other; of two files that differ in them alone, the first of these is taken."""


class Entry(NamedTuple):
    """A file or folder as found; `refused` says why it may not be opened, and is empty where it may."""

    name: str
    path: str
    is_folder: bool
    inode: int
    refused: str = ""


def is_below(path: str, root: str) -> bool:
    """Tell whether a real path is that real root, or lies below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def links_of(run: RunInfo) -> str:
    """Return the folder below which the links of a run may lead."""
    return run.link_root or run.root


def entries(folder: str, link_root: str) -> list[Entry]:
    """List regular files and folders in the order of their names. Raises OSError where the folder cannot be read."""
    found = []
    with os.scandir(folder) as listing:
        for entry in listing:
            refused = _refusal(entry, link_root)
            is_folder = not refused and entry.is_dir()
            if refused or is_folder or entry.is_file():
                found.append(Entry(entry.name, entry.path, is_folder, entry.inode(), refused))
    return sorted(found)


def _refusal(entry: os.DirEntry[str], link_root: str) -> str:
    if not is_utf8(entry.name):
        return "its name is not valid UTF-8. Next: rename it"
    if not entry.is_symlink():
        return ""
    try:
        target = os.path.realpath(entry.path, strict=True)
    except OSError:
        return "a link that leads nowhere"
    if is_below(target, link_root):
        return ""
    return f"a link out of the root, to {printable(target)}: not followed. Next: --follow-symlinks"


def is_utf8(path: str) -> bool:
    """Tell whether a path can be shown, sent and stored as text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def files(folder: str, link_root: str, suffixes: tuple[str, ...] = JSONL) -> list[Entry]:
    """List the files of a folder by their endings; none where the folder is missing or lies outside.

    Compressed ones count by the ending before. Where a file lies there both plain and compressed, as while a writer
    seals it, the plain one is listed alone.
    """
    if not is_below(os.path.realpath(folder), link_root):
        return []
    try:
        listed = entries(folder, link_root)
    except OSError:
        return []
    return _sealed_once(
        [e for e in listed if not e.is_folder and not e.refused and plain_name(e.name).endswith(suffixes)]
    )


def file_of(folder: str, name: str, link_root: str) -> str:
    """Return the path of the file of that name, compressed or not; nothing where there is none that may be read."""
    return next((entry.path for entry in files(folder, link_root, (name,)) if plain_name(entry.name) == name), "")


def _sealed_once(listed: list[Entry]) -> list[Entry]:
    names = {entry.name for entry in listed}

    def is_taken(name: str) -> bool:
        kind, plain = compression_of(name), plain_name(name)
        before = COMPRESSED[: COMPRESSED.index(kind)] if kind else ()
        return not kind or names.isdisjoint((plain, *(plain + other for other in before)))

    return [entry for entry in listed if is_taken(entry.name)]


def folders(folder: str, link_root: str) -> list[Entry]:
    """List the folders in a folder; none where it is missing."""
    try:
        listed = entries(folder, link_root)
    except OSError:
        return []
    return [e for e in listed if e.is_folder and not e.refused]


def compression_of(name: str) -> str:
    """Return the ending that says how a file is compressed, empty where it is not."""
    return next((ending for ending in COMPRESSED if name.endswith(ending)), "")


def plain_name(name: str) -> str:
    """Return a file's name without the ending that says how it is compressed."""
    return name.removesuffix(compression_of(name))


def stem(name: str) -> str:
    """Return a file's name without `.jsonl`, compressed or not.

    Other endings stay, so that no two files that are listed of a folder share a stem.
    """
    return plain_name(name).removesuffix(".jsonl")


def printable(path: str) -> str:
    """Return a path as text, bytes that are not UTF-8 as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
