"""The catalog: which segments a run has right now, on disk and in memory.

Owned by one `OpenRun`, which changes it from one thread; readers take a `Snapshot`, which never changes. Of a part at
most one segment on disk counts; what a growing file has beyond it is the part's tail, rows in this process's memory.
"""

import secrets
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.index.columns import metric_column, names_of, table_of, tag_column
from rolloupe.index.fingerprint import FileState, still_holds
from rolloupe.index.segment import Scan, SegmentMeta, base_path, has_duplicates, read_meta
from rolloupe.index.sketch import Moments, Sketch, sketches_of
from rolloupe.model import Problem, SampleRow

SUPERSEDED_S = 600.0
"""So long is a segment kept that another one of its part has superseded."""

PartKey = tuple[str, int]
"""Source name and part number."""


class Segment(NamedTuple):
    """A segment on disk."""

    meta: SegmentMeta
    path: Path


class Tail(NamedTuple):
    """What a growing part has beyond its segment: rows in memory, up to `stop`."""

    stop: int
    rows: list[SampleRow]
    problems: list[Problem]
    table: pa.Table
    sketches: list[Sketch]


class Snapshot(NamedTuple):
    """The catalog at one moment. `tables` are the tails; `steps` sums the sketches of both by split and step."""

    version: str
    segments: tuple[Segment, ...]
    tables: tuple[tuple[pa.Table, frozenset[tuple[str, int]]], ...]
    steps: dict[tuple[str, int], Sketch]
    metrics: tuple[str, ...]
    tags: tuple[str, ...]
    duplicates: bool
    problems: tuple[Problem, ...]
    problem_count: int

    def holding(self, splits: Iterable[str] = (), low: int | None = None, high: int | None = None) -> "Scope":
        """The segments and tails with rows of these splits (all, where empty) and steps (inclusive)."""
        wanted = frozenset(splits)

        def fits(split: str, step: int) -> bool:
            return (not wanted or split in wanted) and (low is None or step >= low) and (high is None or step <= high)

        segments = [s for s in self.segments if any(fits(k.split, k.step) for k in s.meta.sketches)]
        tables = [table for table, keys in self.tables if any(fits(*key) for key in keys)]
        present = {name for table in tables for name in table.column_names}
        present.update(metric_column(name) for s in segments for name in s.meta.metrics)
        present.update(tag_column(name) for s in segments for name in s.meta.tags)
        wanted_columns = [(metric_column(name), "DOUBLE") for name in self.metrics]
        wanted_columns += [(tag_column(name), "VARCHAR") for name in self.tags]
        absent = [(column, kind) for column, kind in wanted_columns if column not in present]
        return Scope([s.path for s in segments], tables, absent)


class Scope(NamedTuple):
    """The part of a snapshot that a query needs to read."""

    paths: list[Path]
    tables: list[pa.Table]
    absent: list[tuple[str, str]]
    """Columns that the run has and these have not, with their SQL types."""


class Catalog:
    """The segments of one run, below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments: dict[PartKey, Segment] = {}
        self._tails: dict[PartKey, Tail] = {}
        self._lock = threading.Lock()
        self._epoch = secrets.token_hex(4)
        self._count = 0
        self._snapshot: Snapshot | None = None

    def read(self, format_name: str) -> None:
        """Take over what an earlier process left on disk; the segment of a part that reaches furthest."""
        for path in sorted(self.folder.glob("??/*.meta")):  # a source's parts in their order, as streams are read
            meta = read_meta(path)
            if meta is None or meta.format != format_name:
                continue
            found = Segment(meta, path.with_suffix(".parquet"))
            held = self._segments.get((meta.source, meta.part), found)
            further, other = (found, held) if held.meta.stop < meta.stop else (held, found)
            self._segments[meta.source, meta.part] = further
            if other is not further and _age_s(path) > SUPERSEDED_S:
                _remove(other.path)
        self.touch()

    def segment(self, key: PartKey) -> Segment | None:
        """The segment of a part."""
        return self._segments.get(key)

    def tail(self, key: PartKey) -> Tail | None:
        """The tail of a part."""
        return self._tails.get(key)

    def tails(self) -> list[PartKey]:
        """The parts that have a tail."""
        return list(self._tails)

    def add(self, meta: SegmentMeta) -> None:
        """Put a segment in its part's place; the part's tail, which it covers, goes.

        The file of the segment before stays for a while: another viewer of the run may still read it.
        """
        base = base_path(self.folder, meta.source, meta.part, meta.stop)
        key = (meta.source, meta.part)
        with self._lock:
            self._segments[key] = Segment(meta, base.with_suffix(".parquet"))
            self._tails.pop(key, None)
        self.touch()

    def grow(self, key: PartKey, found: Scan) -> None:
        """Append what was scanned beyond a part's segment (and its tail so far) to the tail."""
        held = self._tails.get(key)
        rows = [*held.rows, *found.rows] if held else found.rows
        fixed = [p for p in held.problems if not p.transient] if held else []
        tail = Tail(found.stop, rows, [*fixed, *found.problems], table_of(rows, key[0]), sketches_of(rows))
        with self._lock:
            self._tails[key] = tail
        self.touch()

    def drop(self, keys: Iterable[PartKey], *, remove: bool) -> None:
        """Forget parts; with `remove` their files go too."""
        with self._lock:
            gone = [self._segments.pop(key, None) for key in keys]
            for key in keys:
                self._tails.pop(key, None)
        self.touch()
        if remove:
            for segment in gone:
                if segment is not None:
                    _remove(segment.path)

    def stale(self, states: dict[str, tuple[str, FileState]]) -> tuple[list[PartKey], list[PartKey]]:
        """The parts whose source is gone, and those whose source no longer holds what was scanned.

        `states` maps a source's name to its path and state now.
        """
        gone: list[PartKey] = []
        changed: list[PartKey] = []
        for key, segment in self._segments.items():
            place = states.get(key[0])
            if place is None:
                gone.append(key)
            elif not still_holds(place[0], segment.meta.fingerprint, place[1]):
                changed.append(key)
        return gone, changed

    def parts(self) -> list[PartKey]:
        """Every part that has a segment."""
        return list(self._segments)

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
        tails = tuple(self._tails.values())
        problems = [p for s in segments for p in s.meta.problems]
        for key, tail in self._tails.items():
            held = self._segments.get(key)
            if held is not None:  # what was unfinished when the segment was made has been scanned again since
                problems = [p for p in problems if not (p.transient and p in held.meta.problems)]
            problems += tail.problems
        counted = sum(s.meta.problem_count - len(s.meta.problems) for s in segments) + len(problems)
        sketches = [k for s in segments for k in s.meta.sketches] + [k for t in tails for k in t.sketches]
        names = [names_of(t.rows) for t in tails]
        return Snapshot(
            version=self.version,
            segments=segments,
            tables=tuple((t.table, frozenset((k.split, k.step) for k in t.sketches)) for t in tails if t.rows),
            steps=_summed(sketches),
            metrics=_union([s.meta.metrics for s in segments] + [n[0] for n in names]),
            tags=_union([s.meta.tags for s in segments] + [n[1] for n in names]),
            duplicates=any(s.meta.duplicates for s in segments) or any(has_duplicates(t.rows) for t in tails),
            problems=tuple(problems),
            problem_count=counted,
        )


def _union(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names))


def _summed(sketches: Iterable[Sketch]) -> dict[tuple[str, int], Sketch]:
    """Sum sketches by (split, step). `groups` becomes -1 where a step lies in several: distinct counts do not add."""
    total: dict[tuple[str, int], Sketch] = {}
    for one in sketches:
        held = total.get((one.split, one.step))
        total[one.split, one.step] = one if held is None else _added(held, one)
    return total


def _added(a: Sketch, b: Sketch) -> Sketch:
    return Sketch(a.split, a.step, a.rows + b.rows, -1, _merged(a.columns, b.columns), _merged(a.metrics, b.metrics))


def _merged(a: dict[str, Moments], b: dict[str, Moments]) -> dict[str, Moments]:
    empty = Moments()
    return {name: a.get(name, empty).merge(b.get(name, empty)) for name in dict.fromkeys([*a, *b])}


def _age_s(path: Path) -> float:
    """Seconds since a file was written; 0 where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    for ending in (".meta", ".text.parquet", ".parquet"):
        try:
            path.with_suffix(ending).unlink()
        except OSError:
            continue
