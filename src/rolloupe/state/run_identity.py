"""What identifies a run: its place, and how its first files begin.

The beginnings of its files, which do not change while they grow, identify a run that was moved. They are not enough
alone: two runs of one configuration may write the same first line.
"""

import hashlib
import os
from typing import NamedTuple

from rolloupe.formats import all_formats
from rolloupe.index import OpenRun
from rolloupe.model import Location
from rolloupe.storage import open_file

FILES = 8
"""How many files, the first by name, count."""
HEAD_BYTES = 4096
LEAST_BYTES = 32
"""A shorter first line says too little."""


class Identity(NamedTuple):
    """A run on disk: its format, name and resolved path, and the fingerprints of its files' beginnings.

    The path of a run that is one of several in a file ends with what it is called there.
    """

    format: str
    name: str
    path: str
    prints: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()
    """The fingerprints that the same beginnings had where another format read them."""

    @property
    def known_as(self) -> frozenset[str]:
        """All fingerprints by which the run may be known."""
        return self.prints | self.former


def identity_of(run: OpenRun, *, look: bool = True) -> Identity:
    """The identity of an open run; without `look` its files are left alone, and the prints are empty."""
    info = run.info
    heads = _heads(run) if look and not info.within else []
    return Identity(
        info.format,
        info.name,
        os.path.realpath(info.root) + (f"#{info.within}" if info.within else ""),
        frozenset(_print(info.format, head) for head in heads),
        frozenset(_print(one.name, head) for one in all_formats() for head in heads if one.name != info.format),
    )


def _heads(run: OpenRun) -> list[bytes]:
    """How the run's first files begin. A beginning that may still grow does not count yet."""
    names = [file.name for file in run.sample_files() if file.what == "samples"][:FILES]
    sources = [source for name in names if (source := run.source(name)) is not None]
    return [head for source in sources if (head := _head(source.location))]


def _head(location: Location) -> bytes:
    """The first line of a file, or its first bytes if the line is long; empty while the line is unfinished."""
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
