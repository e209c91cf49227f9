"""What tells a run again: where it lies, and how its first files begin.

A run that was moved is found by the beginnings of its files, which do not change while they grow. They alone would not
do: two runs of one configuration may write the same first line.
"""

import hashlib
import os
from typing import NamedTuple

from rolloupe.index import OpenRun
from rolloupe.model import Location
from rolloupe.storage import open_file

FILES = 8
"""So many files, the first by name, are looked at."""
HEAD_BYTES = 4096
LEAST_BYTES = 32
"""A shorter first line says too little."""


class Identity(NamedTuple):
    """A run as it is found: its format, name and resolved path, and the fingerprints of its files' beginnings."""

    format: str
    name: str
    path: str
    prints: frozenset[str] = frozenset()


def identity_of(run: OpenRun, *, look: bool = True) -> Identity:
    """The identity of an open run; without `look` its files are left alone, and the prints are empty."""
    info = run.info
    return Identity(info.format, info.name, os.path.realpath(info.root), prints_of(run) if look else frozenset())


def prints_of(run: OpenRun) -> frozenset[str]:
    """The fingerprints of the run's first files. A beginning that may still grow has none yet."""
    names = [file.name for file in run.sample_files() if file.what == "samples"][:FILES]
    sources = [source for name in names if (source := run.source(name)) is not None]
    heads = [_head(source.location) for source in sources]
    return frozenset(_print(run.info.format, head) for head in heads if head)


def _head(location: Location) -> bytes:
    """The first line of a file, its first bytes where that is long; empty where it is not whole yet."""
    try:
        with open_file(location) as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return b""
    line, newline, _ = head.partition(b"\n")
    is_fixed = bool(newline) or len(head) == HEAD_BYTES
    return line if is_fixed and len(line) >= LEAST_BYTES else b""


def _print(format_name: str, head: bytes) -> str:
    return hashlib.blake2b(format_name.encode() + b"\0" + head, digest_size=12).hexdigest()
