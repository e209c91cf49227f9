"""A pack: the rows of many small segments in one file, since opening a file costs more than reading its rows.

Segments remain the truth: a pack is a quicker way to read some of them, and may be deleted at any time; it is then
written again. Its name follows from the contents of its members, so all viewers make the same packs, and none takes it
for the pack of other segments.
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
from rolloupe.index.segments.segment import PACK, is_readable, parquet_of, read_meta
from rolloupe.index.snapshot import Pack, Piece, Segment
from rolloupe.storage import atomic

VERSION = "1"
"""Raise it when the shape of a pack changes: all packs are then rebuilt."""

FOLDER = "packs"
"""The folder of packs within the index of a run."""

PIECE = "~piece"
"""The column that names the pack and the segment of a row; no sample metric or tag has this name."""

ROW_GROUP = 65_536
"""Few enough rows for a query of some steps to skip the others; with smaller groups a query reads their footers longer
than it skips rows."""

WORTH = 8
"""Opening a pack for some of its members costs about as much as opening this many segments."""


class PackMember(Struct, array_like=True):
    """A segment to pack: the name of its files, and facts that its content must match."""

    name: str
    scalar_bytes: int
    fingerprint: Fingerprint


def members_of(segments: Iterable[Segment]) -> list[PackMember]:
    """The members of a pack of these segments."""
    return [PackMember(s.path.stem, s.meta.scalar_bytes, s.meta.fingerprint) for s in segments]


def path_of(folder: Path, members: Iterable[Segment]) -> Path:
    """The path of the pack of these segments within the index of their run."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=16)
    for path, meta in ((segment.path, segment.meta) for segment in members):
        # the same on every machine, and different from former segments of that name: a file may be rewritten in place
        print_, stamp = meta.fingerprint, sum(stats.stamp for stats in meta.step_stats)
        words = path.stem, meta.scalar_bytes, meta.rows, stamp, print_.stop, print_.state.size, print_.state.mtime_ns
        digest.update(" ".join([*map(str, words), ""]).encode() + print_.head + print_.tail + print_.between)
    return folder / FOLDER / f"{digest.hexdigest()}{PACK}"


def derived_path_of(path: Path, members: Iterable[Segment]) -> Path | None:
    """The path of a pack's derived metrics; None while some segment has none."""
    versions: list[tuple[object, ...]] = []  # besides the samples, the values depend on these
    for derived in (segment.derived for segment in members):
        if derived is None:
            return None
        stamp = derived.tokens.annotations if derived.tokens else 0
        versions.append((stamp, *sorted(derived.versions.items())))
    digest = hashlib.blake2b(repr(versions).encode(), digest_size=8).hexdigest()
    return path.with_name(f"{path.name.removesuffix(PACK)}-{digest}{ENDING}")


def write(path: Path, members: Sequence[PackMember], *, is_derived: bool) -> bool:
    """Write a pack. Returns False if a segment has changed; raises `OSError` and `ArrowException`."""
    tables = []
    for member in members:
        own = path.parent.parent / member.name[:2] / f"{member.name}.parquet"
        with pq.ParquetFile(derived_of(own) if is_derived else own) as file:
            table = file.read(use_threads=False)
        meta = read_meta(own.with_suffix(".meta"))  # after the rows, in the order of writing
        if meta is None or (meta.scalar_bytes, meta.fingerprint) != (member.scalar_bytes, member.fingerprint):
            return False
        if len(table) != meta.rows:
            return False
        if not is_derived:
            names = pa.array([_piece_name(path, member.name)] * len(table), pa.string())
            table = table.append_column(PIECE, names.dictionary_encode())
        tables.append(table)
    whole = pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    atomic.write(path, parquet_of(whole, row_group_size=ROW_GROUP))
    return True


def _piece_name(pack: Path, name: str) -> str:
    """The name of a segment within a pack: for a while two packs may hold the same segment."""
    return f"{pack.name[:12]} {name}"


class ReadPlan(NamedTuple):
    """How to read pieces: single segments, whole packs, and only the segments `names` of other packs.

    In a plan with derived metrics, segments that have some follow the others, and all packs have some.
    """

    alone: list[Piece]
    whole: list[Pack]
    partly: list[Pack]
    names: list[str]
    packed: dict[Pack, list[Piece]]
    """The pieces to read from each pack, in the pack's order."""


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
            plan.names.extend(_piece_name(pack.path, piece.path.stem) for piece in members if piece.path is not None)
    if derived:
        plan.alone.sort(key=lambda piece: bool(piece.derived))
    return plan


def distrust(packs: Iterable[Pack]) -> bool:
    """Check packs that a query could not read, and use damaged ones no longer. Returns whether there were any."""
    known = list(packs)
    for pack in known:
        files = [path for path in (pack.path, pack.derived) if path is not None]
        if pack.is_good and not all(map(is_readable, files)):
            pack.is_good = False
            for path in files:
                with contextlib.suppress(OSError):
                    path.unlink()
    return not all(pack.is_good for pack in known)
