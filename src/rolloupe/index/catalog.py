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

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from rolloupe.formats import compression_of
from rolloupe.garbage import gc_paused
from rolloupe.index import run_scheduler, sources
from rolloupe.index.fingerprint import FileState, Fingerprint, still_holds
from rolloupe.index.segments.derived_values import with_derived
from rolloupe.index.segments.kind import DerivedMeta, SegmentMeta
from rolloupe.index.segments.launches import StepBlock
from rolloupe.index.segments.parts import Scan
from rolloupe.index.segments.segment import contents_of, discard, numbers_of, read_meta
from rolloupe.index.segments.step_stats import encoded, step_stats_of
from rolloupe.index.snapshot import Assembly, Pack, PartKey, Piece, Segment, Snapshot, union
from rolloupe.model import Problem
from rolloupe.storage import atomic

META, SHARD_CHARS = ".meta", 2
"""The ending of the file that describes a segment, and the letters of the name of its folder."""

SUPERSEDED_S = 600.0
"""The time for which the files of a superseded segment stay."""

TIDY_S = 60.0
"""The shortest interval between two searches for files to delete."""

MANY = 32
"""The number of new segments that is worth a new manifest."""

MANIFEST, MANIFEST_BYTES = "manifest", 256 * 2**20
"""The file with the `.meta` of many segments, since opening a file costs more than reading it, and the most that it may
have: the manifest of 20,000 segments has 20 MB.

Segments remain the truth: a `.meta` that the manifest lacks is read from its own file, and an entry without files does
not count. So a lost manifest costs time and nothing else.
"""

WAITS_S = 2.0
"""How long a publisher waits for another one."""

ManifestEntries = dict[str, bytes]
"""The contents of `.meta` files by their names, without the ending."""


def read_manifest(folder: Path) -> ManifestEntries:
    """Read the manifest in a folder; nothing without one that can be read."""
    try:
        return msgspec.msgpack.decode(contents_of(folder / MANIFEST, MANIFEST_BYTES), type=ManifestEntries)
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
        before = read_manifest(folder)
        after = {name: data for name, data in (before | dict(entries)).items() if name in existing}
        if after != before:
            atomic.write(folder / MANIFEST, msgspec.msgpack.encode(after))


class Tail(NamedTuple):
    """The rows of a growing part beyond its segment, in memory and in order of arrival."""

    piece: Piece
    problems: Sequence[Problem]
    fingerprint: Fingerprint
    """The fingerprint of the file at the scan of the tail's end."""
    blocks: Sequence[StepBlock] = ()
    """As in `SegmentMeta`."""

    def grown(self, addition: Scan, print_: Fingerprint) -> "Tail":
        """The tail with an addition appended; no row of it is looked at again."""
        problems = [*(problem for problem in self.problems if not problem.transient), *addition.problems]
        piece = self.piece._replace(stop=addition.stop)
        if addition.records:
            tables = [*([piece.table] if piece.table else []), addition.table()]
            table = pa.concat_tables(tables, promote_options="permissive")
            names = addition.names
            piece = piece._replace(
                table=table,
                step_stats=[*piece.step_stats, *step_stats_of(addition.samples)],
                metrics=union((piece.metrics, names.metrics)),
                tags=union((piece.tags, names.tags)),
                annotates_discarded=piece.annotates and table["discarded"].null_count < table.num_rows,
            )
        return Tail(piece, problems, print_, [*self.blocks, *addition.blocks])


class Catalog:
    """The segments of one run, in one folder."""

    def __init__(self, folder: Path, clock: run_scheduler.Clock = run_scheduler.CLOCK) -> None:
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
        """The other segments found at the start, until the source shows which of them is valid."""
        self._published: set[str] = set()
        self._unpublished: dict[str, SegmentMeta] = {}
        """By name, the segments that the manifest lacks, or that were written again."""
        self.losses = 0
        """Counts how often parts may have lost their segments."""
        self._is_outdated = False
        """True if a segment of the manifest was written again."""
        self._tidied_s = float("-inf")
        self.discarded: set[str] = set()
        """The names of the segments that were superseded, and deleted since."""

    def read(self, format_name: str) -> None:
        """Take over the segments on disk: for each part the one that reaches furthest; of several, the newest."""
        entries = read_manifest(self.folder)
        self._rivals, self._unpublished = {}, {}
        self._published = set(entries)
        for path in sorted(_metas(self.folder)):  # the parts of a source in order, as streams are read
            base = path.removesuffix(META)
            numbers = f"{base}.parquet"
            meta = read_meta(path, numbers, entries.get(os.path.basename(base)))
            if meta is None or meta.format != format_name:
                continue
            segment = Segment(meta, Path(numbers))
            if segment.path.stem not in self._published:
                self._unpublished[segment.path.stem] = meta
            key = segment.key
            current = self._segments.setdefault(key, segment)
            if current.path != segment.path:
                self._segments[key], other = sorted((current, segment), key=_precedence, reverse=True)
                self._superseded.setdefault(key, {})[other.path] = other
                self._rivals.setdefault(key, []).append(other)
        self.touch()

    def _publish(self) -> None:
        """Put new segments into the manifest, once they are many: a few are read as quickly on their own."""
        if self._is_outdated or len(self._unpublished) >= max(MANY, len(self._segments) // 10):
            existing = {os.path.basename(path).removesuffix(META) for path in _metas(self.folder)}
            entries = {name: encoded(meta) for name, meta in self._unpublished.items()}
            publish(self.folder, entries, existing)
            self._published |= entries.keys()
            self._unpublished, self._is_outdated = {}, False

    def tidy(self) -> None:
        """Put new segments into the manifest, and delete files of superseded segments, if the folder is writable."""
        with contextlib.suppress(OSError):
            self._publish()
            if self._superseded and self._clock.now_s() - self._tidied_s >= TIDY_S:
                self._tidied_s = self._clock.now_s()
                self._delete_superseded()

    def _delete_superseded(self) -> None:
        """Delete the files of segments that others have superseded for a while. One process does so at a time."""
        with atomic.alone_in(self.folder):
            for key, others in self._superseded.items():
                current = self._segments.get(key)
                if current is None:
                    continue
                for other in list(others.values()):
                    is_back = current.path == other.path
                    age_s = time.time() - max(_written_s(current), _written_s(other))
                    if not is_back and age_s > SUPERSEDED_S:
                        discard(other.path)
                        self.discarded.add(other.path.stem)
                    if is_back or age_s > SUPERSEDED_S:
                        del others[other.path]
        self._superseded = {key: others for key, others in self._superseded.items() if others}

    def segment(self, key: PartKey) -> Segment | None:
        """The segment of a part."""
        return self._segments.get(key)

    def tail(self, key: PartKey) -> Tail | None:
        """The tail of a part."""
        return self._tails.get(key)

    def add(self, meta: SegmentMeta) -> tuple[Path, Path]:
        """Make a segment the current one of its part, in place of the part's tail. Returns its files."""
        path = numbers_of(self.folder, meta)
        self.discarded.discard(path.stem)
        segment = Segment(meta, path)
        key = segment.key
        with self._lock:
            before, self._segments[key] = self._segments.get(key), segment
            self._tails.pop(key, None)
        if before is not None and before.path != path:
            self._superseded.setdefault(key, {})[before.path] = before
        self._is_outdated = self._is_outdated or path.stem in self._published
        self._unpublished[path.stem] = meta
        self.touch()
        return path, path.with_suffix(".meta")

    def blocks(self, name: str) -> list[StepBlock] | None:
        """The blocks of a source in the order of its file, empty if a part has none; None while a part is missing."""
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
            stop = max(stop, tail.piece.stop if tail else segment.meta.stop)
        raise AssertionError

    def launches(self) -> dict[str, tuple[int, ...]]:
        """Where launches begin, by source, as known when the segments were written."""
        metas = (segment.meta for segment in self._segments.values() if segment.meta.launches)
        return {meta.source: meta.launches for meta in sorted(metas, key=lambda meta: meta.stop)}

    def segments(self) -> list[Segment]:
        """The current segments of all parts."""
        return list(self._segments.values())

    def pack(self, members: Iterable[Segment], pack: Pack) -> None:
        """Read the members that are still current from a pack. The version stays: answers do not change."""
        with self._lock:
            first = 0
            for member in members:
                current = self._segments.get(member.key)
                if current is not None and current.meta is member.meta:
                    self._segments[member.key] = current._replace(pack=pack, first=first)
                first += member.meta.rows
            self._snapshot = None

    def derive(self, values: Iterable[tuple[Segment, DerivedMeta]]) -> None:
        """Attach derived metrics to the segments that are still current."""
        with self._lock:
            for segment, derived in values:
                current = self._segments.get(segment.key)
                if current is not None and current.meta is segment.meta:
                    step_stats = with_derived(current.meta.step_stats, derived)
                    about = replace(derived, step_stats=[])  # they are among those of the segment
                    self._segments[segment.key] = current._replace(derived=about, step_stats=step_stats)
        self.touch()

    def underive(self, paths: Collection[Path]) -> list[Path]:
        """Detach derived metrics whose files are gone. Returns the segments that had some."""
        with self._lock:
            lost = [segment for segment in self._segments.values() if segment.derived and segment.path in paths]
            for segment in lost:
                self._segments[segment.key] = segment._replace(derived=None, step_stats=())
        if lost:
            self.touch()
        return [segment.path for segment in lost]

    def grow(self, key: PartKey, addition: Scan, print_: Fingerprint) -> None:
        """Append rows that were scanned beyond a part's segment and tail to the tail."""
        tail, meta = self._tails.get(key), self._segments[key].meta
        if tail is None:
            piece = Piece(meta.source, None, None, (), (), (), meta.annotates, meta.stop, start=meta.stop)
            tail = Tail(piece._replace(scores=meta.scores), (), print_)
        tail = tail.grown(addition, print_)
        with self._lock:
            self._tails[key] = tail
        self.touch()

    def drop(self, segments: Collection[Segment], *, remove: bool = False) -> None:
        """Drop segments, and the tails of their parts; `remove` deletes their files too."""
        self.losses += 1
        with self._lock:
            for segment in segments:
                for known in (self._segments, self._tails, self._checked):
                    known.pop(segment.key, None)
        self.touch()
        for segment in segments if remove else ():
            discard(segment.path)

    def set_aside(self, segments: Iterable[Segment]) -> None:
        """Drop segments whose source changed, but not their files; another on disk takes the place of each."""
        self.losses += 1
        with self._lock:
            for old in segments:
                key = old.key
                for known in (self._segments, self._tails, self._checked):
                    known.pop(key, None)
                others = self._superseded.setdefault(key, {})
                others[old.path] = old
                if rivals := self._rivals.get(key):
                    best = max(rivals, key=_precedence)
                    rivals.remove(best)
                    self._segments[key] = others.pop(best.path, best)
        self.touch()

    def find_stale(
        self, now: Mapping[str, sources.SourceState], names: Collection[str] | None = None
    ) -> tuple[list[Segment], list[Segment]]:
        """The segments, of all sources or of `names`, whose source is gone; and those whose source changed."""
        asked = [segment for key, segment in self._segments.items() if names is None or key[0] in names]
        orphans, changed, replaced = [], [], set[str]()
        for segment in asked:
            meta, place = segment.meta, now.get(segment.meta.source)
            if place is None:
                orphans.append(segment)
                continue
            seen, is_same = (meta.fingerprint, place.state), meta.depends == place.source.depends
            if is_same and self._checked.get(segment.key) != seen:
                is_same = still_holds(place.source.location, *seen)
                if is_same:
                    self._checked[segment.key] = seen
            if not is_same:
                changed.append(segment)
                if not meta.fingerprint.is_of(place.state):
                    replaced.add(meta.source)
        # fingerprints cover few blocks of each part: if one part has changed, all parts count as replaced
        others = (segment for segment in asked if segment.meta.source in replaced)
        return orphans, list({segment.key: segment for segment in (*changed, *others)}.values())

    def drop_tails(self, now: Mapping[str, sources.SourceState]) -> list[PartKey]:
        """Drop the tails whose file no longer has the scanned bytes. Returns their parts, whose segments stay."""
        lost = []
        for key, tail in self._tails.items():
            place = now.get(key[0])
            if place is not None and not still_holds(place.source.location, tail.fingerprint, place.state):
                lost.append(key)
        if lost:
            with self._lock:
                for key in lost:
                    del self._tails[key]
            self.touch()
        return lost

    def indexed_bytes(self, counts: Callable[[str, int], bool]) -> int:
        """The number of bytes that the segments and tails of the parts that count cover in their sources."""
        total = 0
        for key, segment in self._segments.items():
            if not counts(*key):
                continue
            meta, tail = segment.meta, self._tails.get(key)
            if compression_of(meta.source):  # the bytes of the file after those of the previous part
                before, stop = self._segments.get((meta.source, meta.part - 1)), meta.fingerprint.stop
                start = before.meta.fingerprint.stop if before else stop * meta.start // max(1, meta.stop)
            else:
                start, stop = meta.start, tail.piece.stop if tail else meta.stop
            total += stop - start
        return total

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
                    self._snapshot = self._make_snapshot()
            return self._snapshot

    def _make_snapshot(self) -> Snapshot:
        segments = tuple(self._segments.values())
        problems = [problem for segment in segments for problem in segment.meta.problems]
        for key, tail in self._tails.items():  # lines that were unfinished in the segment have been scanned again since
            again = [problem for problem in self._segments[key].meta.problems if problem.transient]
            problems = [*(problem for problem in problems if problem not in again), *tail.problems]
        pieces = [tail.piece for tail in self._tails.values() if tail.piece.table]
        counted = sum(s.meta.problem_count - len(s.meta.problems) for s in segments) + len(problems)
        duplicates = any(s.meta.duplicates for s in segments) or bool(pieces)
        snapshot = self._assembly.snapshot(self.version, self._segments, pieces)
        return snapshot._replace(problems=tuple(problems), problem_count=counted, duplicates=duplicates)


def _metas(folder: Path) -> Iterator[str]:
    """Yield the paths of all `.meta` files, and remove pipes: a process that opens one waits for ever."""
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


def _precedence(segment: Segment) -> tuple[int, float]:
    """A sort key for the segments of a part: the greatest one counts."""
    return segment.meta.stop, _written_s(segment)


def _written_s(segment: Segment) -> float:
    """The time a segment was written; the present if it is gone."""
    try:
        return segment.path.with_suffix(".meta").stat().st_mtime
    except OSError:
        return time.time()
