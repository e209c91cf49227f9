"""The manifest of an index: the `.meta` of many segments in one file, since opening a file costs more than reading it.

Segments remain the truth: a `.meta` that the manifest lacks is read from its own file, and an entry without files does
not count. So a lost manifest costs time and nothing else.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from rolloupe.index.segments.segment import contents_of
from rolloupe.storage import atomic

NAME = "manifest"
BYTES = 256 * 2**20
"""A larger file is not a manifest: the manifest of 20,000 segments has 20 MB."""

WAITS_S = 2.0
"""How long a publisher waits for another one."""

Entries = dict[str, bytes]
"""The contents of `.meta` files by their names, without the ending."""


def read(folder: Path) -> Entries:
    """Read the manifest in a folder; nothing without one that can be read."""
    try:
        return msgspec.msgpack.decode(contents_of(folder / NAME, BYTES), type=Entries)
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}


def publish(folder: Path, entries: Mapping[str, bytes], existing: Collection[str]) -> None:
    """Add entries to the manifest, and drop those without segments. Raises `OSError`.

    One process at a time publishes; if another one was stopped meanwhile, this one leaves it for later. If the file
    system has no locks, entries of another process may be lost.
    """
    with atomic.alone_in(folder, WAITS_S) as is_alone:
        if not is_alone:
            return
        before = read(folder)
        after = {name: data for name, data in (before | dict(entries)).items() if name in existing}
        if after != before:
            atomic.write(folder / NAME, msgspec.msgpack.encode(after))
