"""The catalog: which segments a run has right now, on disk and in memory.

Owned by one `OpenRun`, which changes it from one thread; readers take a `Snapshot`, which never changes. Of a part at
most one segment on disk counts; what a growing file has beyond it is the part's tail, rows in this process's memory.
"""

import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.formats import compression_of
from rolloupe.index.fingerprint import FileState, Fingerprint, still_holds
from rolloupe.index.segments.columns import names_of
from rolloupe.index.segments.derived_values import DerivedMeta, with_derived
from rolloupe.index.segments.files import discard
from rolloupe.index.segments.segment import Scan, SegmentMeta, numbers_of, read_meta
from rolloupe.index.segments.step_stats import Sketch, sketches_of
from rolloupe.index.snapshot import Pack, Piece, Segment, Snapshot, snapshot_of
from rolloupe.index.sources import SourceState
from rolloupe.model import Problem

SUPERSEDED_S = 600.0
"""So long is a segment kept that another one of its part has superseded."""

PartKey = tuple[str, int]
"""Source name and part number."""


class Tail(NamedTuple):
    """What a growing part has beyond its segment, up to `stop`: rows in memory, as they came."""

    stop: int
    table: pa.Table | None
    sketches: list[Sketch]
    problems: list[Problem]
    fingerprint: Fingerprint
    """The file when the end of the tail was scanned."""
    metrics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def grown(self, found: Scan, print_: Fingerprint) -> "Tail":
        """The tail with what was scanned behind it; costs what is new, not what there is."""
        fixed = [p for p in self.problems if not p.transient]
        if not found.named:
            return self._replace(stop=found.stop, problems=[*fixed, *found.problems], fingerprint=print_)
        tables = [*([self.table] if self.table else []), found.table()]
        metrics, tags, _ = names_of(found.named)
        return Tail(
            stop=found.stop,
            table=pa.concat_tables(tables, promote_options="permissive"),
            sketches=[*self.sketches, *sketches_of(found.rows)],
            problems=[*fixed, *found.problems],
            fingerprint=print_,
            metrics=tuple(dict.fromkeys((*self.metrics, *metrics))),
            tags=tuple(dict.fromkeys((*self.tags, *tags))),
        )


class Catalog:
    """The segments of one run, below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments: dict[PartKey, Segment] = {}
        self._tails: dict[PartKey, Tail] = {}
        self._checked: dict[PartKey, tuple[Fingerprint, FileState]] = {}
        """States in which a file was found to hold what was scanned: it is not read again for them."""
        self._lock = threading.Lock()
        self._epoch = secrets.token_hex(4)
        self._count = 0
        self._snapshot: Snapshot | None = None

    def read(self, format_name: str) -> None:
        """Take over what an earlier process left on disk: of a part the segment that reaches furthest.

        Of several that reach as far, with texts of other files, the newest counts.
        """
        for path in sorted(self.folder.glob("??/*.meta")):  # a source's parts in their order, as streams are read
            meta = read_meta(path)
            if meta is None or meta.format != format_name:
                continue
            found = Segment(meta, path.with_suffix(".parquet"))
            held = self._segments.setdefault((meta.source, meta.part), found)
            if held.path == found.path:
                continue
            kept, other = sorted((held, found), key=_precedence, reverse=True)
            self._segments[meta.source, meta.part] = kept
            if time.time() - _written_s(kept) > SUPERSEDED_S:
                discard(other.path)
        self.touch()

    def segment(self, key: PartKey) -> Segment | None:
        """The segment of a part."""
        return self._segments.get(key)

    def tail(self, key: PartKey) -> Tail | None:
        """The tail of a part."""
        return self._tails.get(key)

    def add(self, meta: SegmentMeta) -> tuple[Path, Path]:
        """Put a segment in its part's place; the part's tail, which it covers, goes. Returns its files.

        The file of the segment before stays for a while: a query that runs, or another viewer of the run, may still
        read it.
        """
        path = numbers_of(self.folder, meta)
        key = (meta.source, meta.part)
        with self._lock:
            self._segments[key] = Segment(meta, path)
            self._tails.pop(key, None)
        self.touch()
        return path, path.with_suffix(".meta")

    def segments(self) -> list[Segment]:
        """Every part's segment."""
        return list(self._segments.values())

    def pack(self, members: Iterable[Segment], pack: Pack) -> None:
        """Have segments read from a pack, as far as they still stand. Answers, and so the version, stay the same."""
        with self._lock:
            first = 0
            for member in members:
                key = (member.meta.source, member.meta.part)
                held = self._segments.get(key)
                if held is not None and held.meta is member.meta:
                    self._segments[key] = held._replace(pack=pack, first=first)
                first += member.meta.rows
            self._snapshot = None

    def derive(self, values: Iterable[tuple[Segment, DerivedMeta]]) -> None:
        """Put the derived metrics of segments beside them, as far as these still stand."""
        with self._lock:
            for segment, derived in values:
                key = (segment.meta.source, segment.meta.part)
                held = self._segments.get(key)
                if held is not None and held.meta is segment.meta:
                    sketches = with_derived(held.meta.sketches, derived)
                    self._segments[key] = held._replace(derived=derived, sketches=sketches)
        self.touch()

    def underive(self, paths: Collection[Path]) -> list[Path]:
        """Forget the derived metrics of segments whose files are gone. Returns which had some."""
        with self._lock:
            lost = {key: held for key, held in self._segments.items() if held.derived and held.path in paths}
            for key, held in lost.items():
                self._segments[key] = held._replace(derived=None, sketches=())
        if lost:
            self.touch()
        return [held.path for held in lost.values()]

    def grow(self, key: PartKey, found: Scan, print_: Fingerprint) -> None:
        """Append what was scanned beyond a part's segment (and its tail so far) to the tail."""
        tail = (self._tails.get(key) or Tail(0, None, [], [], print_)).grown(found, print_)
        with self._lock:
            self._tails[key] = tail
        self.touch()

    def drop(self, keys: Iterable[PartKey], *, remove: bool) -> None:
        """Forget parts; with `remove` their files go too."""
        with self._lock:
            gone = [self._segments.pop(key, None) for key in keys]
            for key in keys:
                self._tails.pop(key, None)
                self._checked.pop(key, None)
        self.touch()
        if remove:
            for segment in gone:
                if segment is not None:
                    discard(segment.path)

    def stale(self, now: Mapping[str, SourceState]) -> tuple[list[PartKey], list[PartKey]]:
        """The parts whose source is gone, and those whose source no longer holds what was scanned.

        `now` are the sources by name.
        """
        gone = [key for key in self._segments if key[0] not in now]
        changed = [key for key in self._segments if key[0] in now and not self._stands(key, now[key[0]])]
        replaced = {key[0] for key in changed if not self._segments[key].meta.fingerprint.is_of(now[key[0]].state)}
        # few blocks of each part are looked at: where one is of another file, all are taken to be
        others = [key for key in self._segments if key[0] in replaced]
        return gone, list(dict.fromkeys([*changed, *others]))

    def _stands(self, key: PartKey, place: SourceState) -> bool:
        meta = self._segments[key].meta
        if meta.depends != place.source.depends:
            return False
        seen = (meta.fingerprint, place.state)
        if self._checked.get(key) != seen:
            if not still_holds(place.source.location, *seen):
                return False
            self._checked[key] = seen
        return True

    def drop_tails(self, now: Mapping[str, SourceState]) -> list[PartKey]:
        """Forget the tails whose file no longer holds what was scanned, as where it was cut back and written on.

        Returns their parts, whose segments stand.
        """
        places = {key: now[key[0]] for key in self._tails if key[0] in now}
        lost = [
            key
            for key, place in places.items()
            if not still_holds(place.source.location, self._tails[key].fingerprint, place.state)
        ]
        if lost:
            with self._lock:
                for key in lost:
                    del self._tails[key]
            self.touch()
        return lost

    def parts(self) -> list[PartKey]:
        """Every part that has a segment."""
        return list(self._segments)

    def indexed_bytes(self) -> int:
        """How many bytes of the sources the segments and tails stand for."""
        found = 0
        for key, segment in self._segments.items():
            if compression_of(key[0]):
                found += self._file_bytes(key, segment.meta)
            else:
                tail = self._tails.get(key)
                found += (tail.stop if tail else segment.meta.stop) - segment.meta.start
        return found

    def _file_bytes(self, key: PartKey, meta: SegmentMeta) -> int:
        """How many bytes of a compressed file a segment stands for: those behind the part before, if that is there."""
        before = self._segments.get((key[0], key[1] - 1))
        stop = meta.fingerprint.stop
        return stop - (before.meta.fingerprint.stop if before else stop * meta.start // max(1, meta.stop))

    def touch(self) -> None:
        """Note that what a query could answer has changed."""
        with self._lock:
            self._count += 1
            self._snapshot = None

    @property
    def version(self) -> str:
        """A word that changes with every change."""
        return f"{self._epoch}-{self._count}"

    def snapshot(self) -> Snapshot:
        """The catalog as it is now; made once for each version."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._make()
            return self._snapshot

    def _make(self) -> Snapshot:
        segments = tuple(self._segments.values())
        problems = [p for s in segments for p in s.meta.problems]
        for key, tail in self._tails.items():
            held = self._segments.get(key)
            if held is not None:  # what was unfinished when the segment was made has been scanned again since
                problems = [p for p in problems if not (p.transient and p in held.meta.problems)]
            problems += tail.problems
        counted = sum(s.meta.problem_count - len(s.meta.problems) for s in segments) + len(problems)
        views = [_piece_of(tail, self._segments[key].meta) for key, tail in self._tails.items() if tail.table]
        duplicates = any(s.meta.duplicates for s in segments) or bool(views)
        return snapshot_of(self.version, segments, views, tuple(problems), counted, duplicates=duplicates)


def _piece_of(tail: Tail, meta: SegmentMeta) -> Piece:
    """A tail as queries see it; `meta` is of the segment that it goes on from."""
    return Piece(
        meta.source, None, tail.table, tail.sketches, tail.metrics, tail.tags, meta.annotates, tail.stop,
        start=meta.stop, annotates_discarded=_says_discarded(tail.table, meta),
    )  # fmt: skip


def _says_discarded(table: pa.Table | None, meta: SegmentMeta) -> bool:
    return meta.annotates and table is not None and table["discarded"].null_count < table.num_rows


def _precedence(segment: Segment) -> tuple[int, float]:
    """Of the segments of a part, the one with the greatest counts."""
    return segment.meta.stop, _written_s(segment)


def _written_s(segment: Segment) -> float:
    """When a segment was written; now where it is gone."""
    try:
        return segment.path.with_suffix(".meta").stat().st_mtime
    except OSError:
        return time.time()
