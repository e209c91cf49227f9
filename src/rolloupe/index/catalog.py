"""The catalog: the current segments of a run, on disk and in memory.

One `OpenRun` owns it and changes it from one thread; readers take a `Snapshot`, which never changes. At most one
segment on disk counts for a part; a growing file's rows beyond it are the part's tail, in this process's memory.
"""

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from msgspec.structs import replace

from rolloupe.formats import compression_of
from rolloupe.garbage import gc_paused
from rolloupe.index import manifest
from rolloupe.index.clock import CLOCK, Clock
from rolloupe.index.fingerprint import FileState, Fingerprint, still_holds
from rolloupe.index.segments.columns import names_of
from rolloupe.index.segments.derived_values import with_derived
from rolloupe.index.segments.kind import DerivedMeta, SegmentMeta
from rolloupe.index.segments.launches import StepBlock
from rolloupe.index.segments.parts import Scan
from rolloupe.index.segments.segment import discard, numbers_of, read_meta
from rolloupe.index.segments.step_stats import StepStats, encoded, step_stats_of
from rolloupe.index.snapshot import Assembly, Pack, Piece, Segment, Snapshot
from rolloupe.index.sources import SourceState
from rolloupe.model import Problem
from rolloupe.storage import atomic

META, SHARD_CHARS = ".meta", 2
"""The ending of the file that describes a segment, and the letters of the name of its folder."""

SUPERSEDED_S = 600.0
"""The time for which the files of a superseded segment stay."""

TIDY_S = 60.0
"""The shortest interval between two looks for files to delete."""

MANY = 32
"""The number of new segments that is worth a new manifest."""

PartKey = tuple[str, int]
"""Source name and part number."""


class Tail(NamedTuple):
    """The rows of a growing part beyond its segment, up to `stop`, in memory and in order of arrival."""

    stop: int
    table: pa.Table | None
    step_stats: list[StepStats]
    problems: list[Problem]
    fingerprint: Fingerprint
    """The fingerprint of the file at the scan of the tail's end."""
    metrics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    blocks: Sequence[StepBlock] = ()
    """As in `SegmentMeta`."""

    def grown(self, addition: Scan, print_: Fingerprint) -> "Tail":
        """The tail with an addition appended; no row of it is looked at again."""
        fixed = [p for p in self.problems if not p.transient]
        if not addition.named:
            return self._replace(stop=addition.stop, problems=[*fixed, *addition.problems], fingerprint=print_)
        tables = [*([self.table] if self.table else []), addition.table()]
        metrics, tags, _ = names_of(addition.named)
        return Tail(
            stop=addition.stop,
            table=pa.concat_tables(tables, promote_options="permissive"),
            step_stats=[*self.step_stats, *step_stats_of(addition.rows)],
            problems=[*fixed, *addition.problems],
            fingerprint=print_,
            metrics=tuple(dict.fromkeys((*self.metrics, *metrics))),
            tags=tuple(dict.fromkeys((*self.tags, *tags))),
            blocks=[*self.blocks, *addition.blocks],
        )


class Catalog:
    """The segments of one run, in one folder."""

    def __init__(self, folder: Path, clock: Clock = CLOCK) -> None:
        self.folder = folder
        self._clock = clock
        self._segments: dict[PartKey, Segment] = {}
        self._tails: dict[PartKey, Tail] = {}
        self._checked: dict[PartKey, tuple[Fingerprint, FileState]] = {}
        """File states that already matched the fingerprint: they need no second read."""
        self._lock = threading.Lock()
        self._epoch = secrets.token_hex(4)
        self._count = 0
        self._snapshot: Snapshot | None = None
        self._assembly = Assembly()
        self._superseded: dict[PartKey, dict[Path, Segment]] = {}
        """The other segments on disk of each part, by path."""
        self._rivals: dict[PartKey, list[Segment]] = {}
        """Those that were there at the start: the source decides which of them holds."""
        self._published: set[str] = set()
        self._unpublished: set[PartKey] = set()
        """The parts that have another segment since the manifest was read or written."""
        self.losses = 0
        """Counts how often parts may have lost their segments."""
        self._is_outdated = False
        """True if the manifest has an entry of a segment that was written again."""
        self._tidied_s = float("-inf")
        self.discarded: set[str] = set()
        """The names of the segments that were superseded, and deleted since."""

    def read(self, format_name: str) -> None:
        """Take over segments that other processes left on disk: for each part, the one that reaches furthest.

        If several reach equally far, the newest counts.
        """
        _, entries = manifest.read(self.folder)
        self._rivals = {}
        self._published = set(entries)
        for path in sorted(_metas(self.folder)):  # the parts of a source in order, as streams are read
            base = path.removesuffix(META)
            numbers = f"{base}.parquet"
            meta = read_meta(path, numbers, entries.get(os.path.basename(base)))
            if meta is None or meta.format != format_name:
                continue
            segment = Segment(meta, Path(numbers))
            key = (meta.source, meta.part)
            current = self._segments.setdefault(key, segment)
            if current.path != segment.path:
                self._segments[key], other = sorted((current, segment), key=_precedence, reverse=True)
                self._superseded.setdefault(key, {})[other.path] = other
                self._rivals.setdefault(key, []).append(other)
        self._unpublished = set(self._segments)
        self.touch()

    def publish(self) -> None:
        """Put new segments into the manifest, once they are many: a few are read as quickly on their own.

        Raises `OSError`.
        """
        segments = [self._segments[key] for key in self._unpublished & self._segments.keys()]
        new = {s.path.stem: s.meta for s in segments if s.path.stem not in self._published}
        is_due = self._is_outdated or len(new) >= max(MANY, len(self._segments) // 10)
        if new and not is_due:
            return
        if new:
            existing = {os.path.basename(path).removesuffix(META) for path in _metas(self.folder)}
            entries = {name: encoded(meta) for name, meta in new.items()}
            manifest.publish(self.folder, entries, existing)
            self._published |= new.keys()
            self._is_outdated = False
        self._unpublished.clear()

    def tidy(self) -> None:
        """Delete the files of segments that others have superseded for a while. One process does so at a time."""
        if not self._superseded or self._clock.now_s() - self._tidied_s < TIDY_S:
            return
        self._tidied_s = self._clock.now_s()
        with atomic.alone_in(self.folder):
            for key, others in self._superseded.items():
                current = self._segments.get(key)
                for other in list(others.values()) if current else ():
                    assert current is not None
                    age_s = time.time() - max(_written_s(current), _written_s(other))
                    if current.path == other.path:  # it has come back
                        del others[other.path]
                    elif age_s > SUPERSEDED_S:
                        discard(other.path)
                        self.discarded.add(other.path.stem)
                        del others[other.path]
        self._superseded = {key: others for key, others in self._superseded.items() if others}

    def segment(self, key: PartKey) -> Segment | None:
        """The segment of a part."""
        return self._segments.get(key)

    def tail(self, key: PartKey) -> Tail | None:
        """The tail of a part."""
        return self._tails.get(key)

    def add(self, meta: SegmentMeta) -> tuple[Path, Path]:
        """Make a segment the current one of its part, and drop the part's tail, which it covers. Returns its files.

        The files of the previous segment stay for a while: a running query or another viewer may still read them.
        """
        path = numbers_of(self.folder, meta)
        self.discarded.discard(path.stem)
        key = (meta.source, meta.part)
        with self._lock:
            before, self._segments[key] = self._segments.get(key), Segment(meta, path)
            self._tails.pop(key, None)
        if before is not None and before.path != path:
            self._superseded.setdefault(key, {})[before.path] = before
        if path.stem in self._published:
            self._published.remove(path.stem)
            self._is_outdated = True
        self._unpublished.add(key)
        self.touch()
        return path, path.with_suffix(".meta")

    def blocks(self, name: str) -> list[StepBlock] | None:
        """The steps of a source as its file has them, if something follows from that; None while a part is lacking."""
        blocks: list[StepBlock] = []
        stop = 0
        for part in count():
            segment, tail = self._segments.get((name, part)), self._tails.get((name, part))
            if segment is None:
                return blocks if part else None
            if segment.meta.start > stop:
                return None
            if segment.meta.rows and not segment.meta.blocks:
                return []
            blocks += segment.meta.blocks
            blocks += tail.blocks if tail else ()
            stop = max(stop, tail.stop if tail else segment.meta.stop)
        raise AssertionError

    def launches(self) -> dict[str, tuple[int, ...]]:
        """Where launches begin, by source, as whoever wrote the segments knew."""
        found = (segment.meta for segment in self._segments.values() if segment.meta.launches)
        return {meta.source: meta.launches for meta in sorted(found, key=lambda meta: meta.stop)}

    def segments(self) -> list[Segment]:
        """The current segments of all parts."""
        return list(self._segments.values())

    def pack(self, members: Iterable[Segment], pack: Pack) -> None:
        """Have those segments that are still current read from a pack. Answers, and so the version, stay the same."""
        with self._lock:
            first = 0
            for member in members:
                key = (member.meta.source, member.meta.part)
                current = self._segments.get(key)
                if current is not None and current.meta is member.meta:
                    self._segments[key] = current._replace(pack=pack, first=first)
                first += member.meta.rows
            self._snapshot = None

    def derive(self, values: Iterable[tuple[Segment, DerivedMeta]]) -> None:
        """Attach derived metrics to those segments that are still current."""
        with self._lock:
            for segment, derived in values:
                key = (segment.meta.source, segment.meta.part)
                current = self._segments.get(key)
                if current is not None and current.meta is segment.meta:
                    step_stats = with_derived(current.meta.step_stats, derived)
                    about = replace(derived, step_stats=[])  # they are among those of the segment
                    self._segments[key] = current._replace(derived=about, step_stats=step_stats)
        self.touch()

    def underive(self, paths: Collection[Path]) -> list[Path]:
        """Detach the derived metrics of segments whose files are gone. Returns those that had some."""
        with self._lock:
            lost = {key: one for key, one in self._segments.items() if one.derived and one.path in paths}
            for key, segment in lost.items():
                self._segments[key] = segment._replace(derived=None, step_stats=())
        if lost:
            self.touch()
        return [segment.path for segment in lost.values()]

    def grow(self, key: PartKey, addition: Scan, print_: Fingerprint) -> None:
        """Append rows that were scanned beyond a part's segment and tail to the tail."""
        tail = (self._tails.get(key) or Tail(0, None, [], [], print_)).grown(addition, print_)
        with self._lock:
            self._tails[key] = tail
        self.touch()

    def drop(self, keys: Iterable[PartKey], *, remove: bool = False) -> None:
        """Drop parts; `remove` deletes their files too."""
        self.losses += 1
        with self._lock:
            segments = [self._segments.pop(key, None) for key in keys]
            for key in keys:
                self._tails.pop(key, None)
                self._checked.pop(key, None)
        self.touch()
        if remove:
            for segment in segments:
                if segment is not None:
                    discard(segment.path)

    def set_aside(self, keys: Iterable[PartKey]) -> None:
        """Drop the segments of parts whose source changed; another one on disk takes its place, if there is one.

        The files stay for a while: another viewer may still read them, or know a newer source.
        """
        self.losses += 1
        with self._lock:
            for key in keys:
                old = self._segments.pop(key)
                self._tails.pop(key, None)
                self._checked.pop(key, None)
                others = self._superseded.setdefault(key, {})
                others[old.path] = old
                if rivals := self._rivals.get(key):
                    best = max(rivals, key=_precedence)
                    rivals.remove(best)
                    self._segments[key] = others.pop(best.path, best)
                    self._unpublished.add(key)
        self.touch()

    def stale(
        self, now: Mapping[str, SourceState], names: Collection[str] | None = None
    ) -> tuple[list[PartKey], list[PartKey]]:
        """The parts whose source is gone, and those whose source no longer has the scanned bytes.

        `now` maps names to sources; only parts of `names` are looked at, if it is given.
        """
        asked = [key for key in self._segments if names is None or key[0] in names]
        orphans = [key for key in asked if key[0] not in now]
        changed = [key for key in asked if key[0] in now and not self._is_current(key, now[key[0]])]
        replaced = {key[0] for key in changed if not self._segments[key].meta.fingerprint.is_of(now[key[0]].state)}
        # fingerprints cover few blocks of each part: if one part is of another file, all count as replaced
        others = [key for key in asked if key[0] in replaced]
        return orphans, list(dict.fromkeys([*changed, *others]))

    def _is_current(self, key: PartKey, place: SourceState) -> bool:
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
        """Drop the tails whose file no longer has the scanned bytes, as after it was truncated and written on.

        Returns their parts, whose segments stay.
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

    def indexed_bytes(self, counts: Callable[[str, int], bool]) -> int:
        """How many bytes of the sources the segments and tails of those parts cover that count."""
        total = 0
        for key, segment in self._segments.items():
            if not counts(*key):
                continue
            if compression_of(key[0]):
                total += self._file_bytes(key, segment.meta)
            else:
                tail = self._tails.get(key)
                total += (tail.stop if tail else segment.meta.stop) - segment.meta.start
        return total

    def _file_bytes(self, key: PartKey, meta: SegmentMeta) -> int:
        """How many bytes of a compressed file a segment covers: those after the previous part, if it has a segment."""
        before = self._segments.get((key[0], key[1] - 1))
        stop = meta.fingerprint.stop
        return stop - (before.meta.fingerprint.stop if before else stop * meta.start // max(1, meta.stop))

    def touch(self) -> None:
        """Note that the answer to some query may have changed."""
        with self._lock:
            self._count += 1
            self._snapshot = None

    @property
    def version(self) -> str:
        """A string that differs after every change."""
        return f"{self._epoch}-{self._count}"

    def snapshot(self) -> Snapshot:
        """The current catalog; made once for each version."""
        with self._lock:
            if self._snapshot is None:
                with gc_paused():
                    self._snapshot = self._make()
            return self._snapshot

    def _make(self) -> Snapshot:
        segments = tuple(self._segments.values())
        problems = [p for s in segments for p in s.meta.problems]
        for key, tail in self._tails.items():
            segment = self._segments.get(key)
            if segment is not None:  # lines that were unfinished in the segment have been scanned again since
                problems = [p for p in problems if not (p.transient and p in segment.meta.problems)]
            problems += tail.problems
        counted = sum(s.meta.problem_count - len(s.meta.problems) for s in segments) + len(problems)
        views = [_piece_of(tail, self._segments[key].meta) for key, tail in self._tails.items() if tail.table]
        duplicates = any(s.meta.duplicates for s in segments) or bool(views)
        return self._assembly.snapshot(
            self.version, self._segments, views, tuple(problems), counted, duplicates=duplicates
        )


def _metas(folder: Path) -> Iterator[str]:
    """Yield the paths of all `.meta` files, as texts: there may be many thousands.

    Removes pipes and devices, which somebody else put there: whoever opens one waits for ever.
    """
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as shards:
        for shard in shards:
            if len(shard.name) == SHARD_CHARS and shard.is_dir():
                with os.scandir(shard.path) as files:
                    for file in files:
                        if not (file.is_file(follow_symlinks=False) or file.is_symlink() or file.is_dir()):
                            with contextlib.suppress(OSError):
                                os.unlink(file.path)
                        elif file.name.endswith(META):
                            yield file.path


def _piece_of(tail: Tail, meta: SegmentMeta) -> Piece:
    """A tail as queries see it; `meta` belongs to the segment that it continues."""
    return Piece(
        meta.source, None, tail.table, tail.step_stats, tail.metrics, tail.tags, meta.annotates, tail.stop,
        start=meta.stop, annotates_discarded=_says_discarded(tail.table, meta), scores=meta.scores,
    )  # fmt: skip


def _says_discarded(table: pa.Table | None, meta: SegmentMeta) -> bool:
    return meta.annotates and table is not None and table["discarded"].null_count < table.num_rows


def _precedence(segment: Segment) -> tuple[int, float]:
    """A sort key for the segments of a part: the greatest one counts."""
    return segment.meta.stop, _written_s(segment)


def _written_s(segment: Segment) -> float:
    """The time a segment was written; the present if it is gone."""
    try:
        return segment.path.with_suffix(".meta").stat().st_mtime
    except OSError:
        return time.time()
