"""One pack: the rows of many small segments in one file, since to open a file costs more than to read its rows.

Segments stay the truth: a pack is a quicker way to read some of them, may be deleted at any time, and is made again.
Its name follows from what its members hold, so that all viewers make the same ones, and none is ever taken for a pack
of segments that stand now but were made of something else.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from rolloupe.index.fingerprint import Fingerprint
from rolloupe.index.segments.derived_values import ENDING, derived_of
from rolloupe.index.segments.files import is_readable, write_parquet
from rolloupe.index.segments.segment import PACK, SegmentMeta, read_meta
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


def members_of(segments: Iterable[Segment]) -> list[PackMember]:
    """What a pack of these segments is made of."""
    return [PackMember(s.path.stem, s.meta.scalar_bytes, s.meta.fingerprint) for s in segments]


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


def derived_path_of(path: Path, members: Iterable[Segment]) -> Path | None:
    """Where the derived metrics of a pack's segments lie; None where some segment has none yet."""
    versions = [None if one.derived is None else tuple(sorted(one.derived.versions.items())) for one in members]
    if None in versions:
        return None
    digest = hashlib.blake2b(repr(versions).encode(), digest_size=8).hexdigest()
    return path.with_name(f"{path.name.removesuffix(PACK)}-{digest}{ENDING}")


def write(path: Path, members: Sequence[PackMember], *, is_derived: bool) -> bool:
    """Write a pack. False where a segment no longer is what it was; raises `OSError` and `ArrowException`."""
    tables = []
    for member in members:
        table = _rows(path.parent.parent, member, is_derived=is_derived)
        if table is None:
            return False
        if not is_derived:
            names = pa.array([_own(path, member.name)] * len(table), pa.string())
            table = table.append_column(PIECE, names.dictionary_encode())
        tables.append(table)
    whole = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    write_parquet(path, whole, row_group_size=ROW_GROUP)
    return True


def _rows(folder: Path, member: PackMember, *, is_derived: bool) -> pa.Table | None:
    path = folder / member.name[:2] / f"{member.name}.parquet"
    with pq.ParquetFile(derived_of(path) if is_derived else path) as file:
        table = file.read(use_threads=False)
    meta = read_meta(path.with_suffix(".meta"))  # after the rows: it is written after them
    if meta is None or (meta.scalar_bytes, meta.fingerprint) != (member.scalar_bytes, member.fingerprint):
        return None
    return table if len(table) == meta.rows else None


def _own(pack: Path, name: str) -> str:
    """Names a segment in a pack: for a while two packs may hold the same one."""
    return f"{pack.name[:12]} {name}"


class ReadPlan(NamedTuple):
    """How pieces are read: segments alone, packs whole, and packs of which only the segments `names` are wanted.

    With derived metrics, segments that have some stand behind the others, and packs have them too.
    """

    alone: list[Piece]
    whole: list[Pack]
    partly: list[Pack]
    names: list[str]
    packed: dict[Pack, list[Piece]]
    """The pieces that are read from each pack, as they stand in it."""


def read_plan(pieces: Iterable[Piece], *, derived: bool = False) -> ReadPlan:
    """The cheapest way to read the pieces that are on disk, with their derived metrics or without."""
    plan = ReadPlan([], [], [], [], {})
    by_pack: dict[Pack | None, list[Piece]] = {}
    for piece in pieces:
        if piece.path is not None:
            by_pack.setdefault(piece.pack, []).append(piece)
    for pack, members in by_pack.items():
        is_usable = pack is not None and pack.is_good and not (derived and pack.derived is None)
        if pack is None or not is_usable or len(members) < WORTH:
            plan.alone.extend(members)
            continue
        plan.packed[pack] = sorted(members, key=lambda piece: piece.first)
        if len(members) == pack.members:
            plan.whole.append(pack)
        else:
            plan.partly.append(pack)
            plan.names.extend(_own(pack.path, piece.path.stem) for piece in members if piece.path is not None)
    if derived:
        plan.alone.sort(key=lambda piece: bool(piece.derived))
    return plan


def distrust(packs: Iterable[Pack]) -> bool:
    """Look through packs that a question could not read; those that are gone or damaged are used no more.

    Returns whether there were any.
    """
    known = list(packs)
    for pack in known:
        files = [path for path in (pack.path, pack.derived) if path is not None]
        if pack.is_good and not all(map(is_readable, files)):
            pack.is_good = False
            for path in files:
                with contextlib.suppress(OSError):
                    path.unlink()
    return not all(pack.is_good for pack in known)
