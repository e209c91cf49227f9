"""Joins annotations to the samples whose tokens they concern, by uid and in memory, whenever segments change.

Hashes stand for uids: the reader of an annotation's series compares the uids themselves.
"""

import hashlib
from collections.abc import Sequence
from operator import is_
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe import text
from rolloupe.formats import by_name
from rolloupe.index.segments.derived_values import may_have_tokens
from rolloupe.index.segments.kind import AnnotationPlace, AnnotationState, SegmentMeta
from rolloupe.index.snapshot import Segment

Numbers = NDArray[np.int64]

NO_UID = hash("")

UNTOLD = -1
"""Stands for an annotation that does not tell whether its sample was discarded."""


class _Hashed(NamedTuple):
    """The uids of a segment as hashes, and the sample or annotation of each."""

    uids: Numbers
    places: Numbers
    """For samples the row, shape (N, 1); for annotations the start and the length in their source, shape (N, 2)."""
    discarded: Numbers
    """For annotations 1 if the sample was discarded, 0 if it was trained on, or `UNTOLD`; shape (N,)."""


class _NotedPlaces(NamedTuple):
    """The annotations of a segment."""

    sources: Sequence[str] = ()
    places: Numbers = np.zeros((0, 4), np.int64)
    """Shape (N, 4): the row, the number of the source, the start, the length; those of a sample oldest first."""
    discarded: Numbers = np.zeros((0, 2), np.int64)
    """Shape (N, 2): the rows about which annotations tell, and whether they were discarded."""

    def stamp(self) -> int:
        """A number that every viewer gives to these annotations, and to no others."""
        digest = hashlib.blake2b(repr(self.sources).encode("utf-8", "surrogatepass"), digest_size=8)
        digest.update(self.places.astype("<i8").tobytes())
        digest.update(self.discarded.astype("<i8").tobytes())
        return int.from_bytes(digest.digest()) or 1


class TokenAnnotations:
    """The annotations of the segments of a run. Only the thread of one `OpenRun` uses it."""

    def __init__(self) -> None:
        self._metas: list[SegmentMeta] = []
        self._hashed: dict[Path, tuple[SegmentMeta, _Hashed]] = {}
        self._places: dict[Path, _NotedPlaces] = {}
        self._stamps: dict[Path, int] = {}

    def update(self, segments: Sequence[Segment]) -> set[Path]:
        """Look at all segments; returns those whose annotations changed."""
        metas = [segment.meta for segment in segments]
        if len(metas) == len(self._metas) and all(map(is_, metas, self._metas)):
            return set()
        self._metas, before = metas, self._stamps
        annotations = [
            segment for segment in segments if _may_hold_series(segment.meta) or segment.meta.annotates_discarded
        ]
        has_series = any(_may_hold_series(segment.meta) for segment in annotations)
        samples = [
            segment for segment in segments
            if not segment.meta.annotates and segment.meta.rows and (has_series or may_have_tokens(segment.meta))
        ]  # fmt: skip
        self._places = self._joined(samples, annotations) if annotations else {}
        self._stamps = {path: places.stamp() for path, places in self._places.items()}
        return {path for path in before.keys() | self._stamps.keys() if before.get(path) != self._stamps.get(path)}

    def stamp(self, path: Path) -> int:
        """A number that changes with the annotations of a segment; 0 without any."""
        return self._stamps.get(path, 0)

    def of(self, path: Path) -> AnnotationState:
        """The annotations of a segment."""
        if path not in self._places:
            return AnnotationState()
        sources, places, discarded = self._places[path]
        rows = [AnnotationPlace(row, sources[source], start, length) for row, source, start, length in places.tolist()]
        return AnnotationState(self.stamp(path), rows, {row: bool(flag) for row, flag in discarded.tolist()})

    def _joined(self, samples: Sequence[Segment], annotations: Sequence[Segment]) -> dict[Path, _NotedPlaces]:
        known, self._hashed = self._hashed, {}
        for segment in (*samples, *annotations):
            meta, hashed = known.get(segment.path, (None, None))
            self._hashed[segment.path] = (segment.meta, hashed if hashed and meta is segment.meta else _read(segment))
        noted = self._with_series(samples, [segment for segment in annotations if _may_hold_series(segment.meta)])
        some = [segment for segment in samples if segment.path in noted or may_have_tokens(segment.meta)]
        for path, discarded in self._discarded(some, annotations).items():
            noted[path] = noted.get(path, _NotedPlaces())._replace(discarded=discarded)
        return noted

    def _with_series(self, samples: Sequence[Segment], annotations: Sequence[Segment]) -> dict[Path, _NotedPlaces]:
        """The places of annotations that may hold series, by the segments that they concern."""
        if not annotations:
            return {}
        sources = sorted({segment.meta.source for segment in annotations})
        numbers = {name: number for number, name in enumerate(sources)}
        read = [self._hashed[segment.path][1] for segment in annotations]
        uids = np.concatenate([hashed.uids for hashed in read])
        places = np.concatenate([hashed.places for hashed in read])
        files = np.repeat(
            [numbers[segment.meta.source] for segment in annotations], [len(hashed.uids) for hashed in read]
        )
        order = np.argsort(uids, kind="stable")
        uids, places = uids[order], np.column_stack([files[order], places[order]])
        noted = {}
        for segment in samples:
            own = self._hashed[segment.path][1]
            first = np.searchsorted(uids, own.uids)
            counts = np.searchsorted(uids, own.uids, "right") - first
            if counts.any():
                at = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
                joined = np.column_stack([np.repeat(own.places[:, 0], counts), places[at]])
                ordered = joined[np.lexsort(joined.T[::-1])]
                ordered = ordered[np.append(True, (np.diff(ordered, axis=0) != 0).any(axis=1))]  # each once
                used, ordered[:, 1] = np.unique(ordered[:, 1], return_inverse=True)
                noted[segment.path] = _NotedPlaces([sources[number] for number in used.tolist()], ordered)
        return noted

    def _discarded(self, samples: Sequence[Segment], annotations: Sequence[Segment]) -> dict[Path, Numbers]:
        """As in `_NotedPlaces`. The newest annotation decides; one of the sample comes before one of its trace."""
        in_order = sorted(annotations, key=lambda segment: (text.natural(segment.meta.source), segment.meta.start))
        read = [self._hashed[segment.path][1] for segment in in_order]
        uids, flags = (
            np.concatenate(some) for some in ([hashed.uids for hashed in read], [hashed.discarded for hashed in read])
        )
        uids, flags = uids[flags != UNTOLD], flags[flags != UNTOLD]
        order = np.argsort(uids, kind="stable")
        uids, flags = uids[order], flags[order]
        discarded = {}
        for segment in samples if len(uids) else ():
            own = self._hashed[segment.path][1]
            newest = np.searchsorted(uids, own.uids, "right") - 1
            places = np.flatnonzero(uids[newest] == own.uids)
            if len(places):
                rows, first = np.unique(own.places[places, 0], return_index=True)
                discarded[segment.path] = np.column_stack([rows, flags[newest[places[first]]]])
        return discarded


def _may_hold_series(meta: SegmentMeta) -> bool:
    is_own = meta.annotates and not meta.scores
    return is_own and bool(meta.annotated_series or by_name(meta.format).series_are_annotated)


def _read(segment: Segment) -> _Hashed:
    """The uids of a segment; nothing if its file is gone."""
    names = ["uid", "byte_start", "byte_length", "discarded"] if segment.meta.annotates else ["uid", "trace_id"]
    none = np.zeros(0, np.int64)
    try:
        with pq.ParquetFile(segment.path) as file:
            table = file.read(columns=names, use_threads=False)
    except (OSError, pa.ArrowException):
        return _Hashed(none, np.zeros((0, 2 if segment.meta.annotates else 1), np.int64), none)
    uids = _hashes(table["uid"])
    if segment.meta.annotates:
        flags = (UNTOLD if reason is None else reason != "" for reason in table["discarded"].to_pylist())
        places = np.column_stack([table[name].to_numpy() for name in ("byte_start", "byte_length")])
        return _Hashed(uids, places, np.fromiter(flags, np.int64, len(table)))
    both, rows = np.concatenate([uids, _hashes(table["trace_id"])]), np.tile(np.arange(len(table)), 2)
    return _Hashed(both[both != NO_UID], rows[both != NO_UID][:, None], none)


def _hashes(uids: pa.ChunkedArray) -> Numbers:
    return np.fromiter(map(hash, uids.to_pylist()), np.int64, len(uids))
