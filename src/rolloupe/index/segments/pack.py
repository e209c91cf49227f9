"""One pack: the rows of many small segments in one file, since to open a file costs more than to read its rows.

Segments stay the truth: a pack is a quicker way to read some of them, may be deleted at any time, and is made again.
Its name follows from what its members hold, so that all viewers make the same ones, and none is ever taken for a pack
of segments that stand now but were made of something else.
"""

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.segment import PACK, SegmentMeta, is_readable, read_meta, write_parquet
from rolloupe.index.snapshot import Pack, Piece, Segment

VERSION = "1"
"""Raise it when the shape of a pack changes: others are then made."""

FOLDER = "packs"
"""Where packs lie, below the index of a run."""

PIECE = "~piece"
"""The column that names the pack and the segment of a row: no sample metric or tag is called so."""

ROW_GROUP = 8192
"""Few enough rows that what a range of steps does not ask for is passed over."""

WORTH = 8
"""To open a pack for some of its members costs about as much as so many segments."""


class PackMember(Struct, array_like=True):
    """A segment to pack: the name of its files, and what they must hold."""

    name: str
    scalar_bytes: int
    fingerprint: Fingerprint


class Packing(Struct, kw_only=True, tag=True):
    """Write a pack."""

    path: str
    members: list[PackMember]


def packing_of(path: Path, members: Iterable[Segment]) -> Packing:
    """The order to write the pack of these segments."""
    found = [PackMember(s.path.stem, s.meta.scalar_bytes, s.meta.fingerprint) for s in members]
    return Packing(path=str(path), members=found)


def path_of(folder: Path, members: Iterable[Segment]) -> Path:
    """Where the pack of these segments lies, below the index of their run."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=16)
    for segment in members:
        digest.update(_word(segment.path.stem, segment.meta))
    return folder / FOLDER / f"{digest.hexdigest()}{PACK}"


def _word(name: str, meta: SegmentMeta) -> bytes:
    """What tells a segment from all that were ever called the same, as where a file was written again in place.

    Device and inode are left out: one folder may be seen from two machines.
    """
    print_, stamp = meta.fingerprint, sum(sketch.stamp for sketch in meta.sketches)
    state = f"{name} {meta.scalar_bytes} {meta.rows} {stamp} {print_.stop} {print_.state.size} {print_.state.mtime_ns} "
    return state.encode() + print_.head + print_.tail + print_.between


def write(packing: Packing) -> bool:
    """Write a pack. False where a segment no longer is what it was; raises `OSError` and `ArrowException`."""
    path = Path(packing.path)
    tables = []
    for member in packing.members:
        table = _rows(path.parent.parent, member)
        if table is None:
            return False
        names = pa.array([_own(path, member.name)] * len(table), pa.string())
        tables.append(table.append_column(PIECE, names.dictionary_encode()))
    whole = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    write_parquet(path, whole, row_group_size=ROW_GROUP)
    return True


def _rows(folder: Path, member: PackMember) -> pa.Table | None:
    path = folder / member.name[:2] / f"{member.name}.parquet"
    with pq.ParquetFile(path) as file:
        table = file.read(use_threads=False)
    meta = read_meta(path.with_suffix(".meta"))  # after the rows: it is written after them
    if meta is None or (meta.scalar_bytes, meta.fingerprint) != (member.scalar_bytes, member.fingerprint):
        return None
    return table if len(table) == meta.rows else None


def _own(pack: Path, name: str) -> str:
    """Names a segment in a pack: for a while two packs may hold the same one."""
    return f"{pack.name[:12]} {name}"


class Ways(NamedTuple):
    """How pieces are read: segments alone, packs whole, and packs of which only the segments `names` are wanted."""

    alone: list[Piece]
    whole: list[Pack]
    partly: list[Pack]
    names: list[str]
    packed: dict[Pack, list[Piece]]
    """The pieces that are read from each pack, as they stand in it."""


def ways_of(pieces: Iterable[Piece]) -> Ways:
    """The cheapest way to read the pieces that are on disk."""
    ways = Ways([], [], [], [], {})
    by_pack: dict[Pack | None, list[Piece]] = {}
    for piece in pieces:
        if piece.path is not None:
            by_pack.setdefault(piece.pack, []).append(piece)
    for pack, members in by_pack.items():
        if pack is None or not pack.is_good or len(members) < WORTH:
            ways.alone.extend(members)
            continue
        ways.packed[pack] = sorted(members, key=lambda piece: piece.first)
        if len(members) == pack.members:
            ways.whole.append(pack)
        else:
            ways.partly.append(pack)
            ways.names.extend(_own(pack.path, piece.path.stem) for piece in members if piece.path is not None)
    return ways


def distrust(packs: Iterable[Pack]) -> bool:
    """Look through packs that a question could not read; those that are gone or damaged are used no more.

    Returns whether there were any.
    """
    known = list(packs)
    for pack in known:
        if pack.is_good and not is_readable(pack.path):
            pack.is_good = False
            with contextlib.suppress(OSError):
                pack.path.unlink()
    return not all(pack.is_good for pack in known)
