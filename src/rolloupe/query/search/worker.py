"""Search of the pieces of a run, in a thread of its own; readers take hits while it continues."""

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun, Piece, StepKey
from rolloupe.index.segments.texts import TextBatch, read_texts
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, RowPlace
from rolloupe.query.search.pattern import COLUMNS, Mask, Pattern, Rows
from rolloupe.query.search.roles import Snippet, Spoken, snippets_of

MOMENT_S = 0.05
"""Target duration of a call; a single text that takes longer is searched in one call."""

FIRST_BYTES = 256 * 1024
"""Amount of text for the first call, before its speed is known."""

LEAST_BYTES = 16 * 1024
"""Starting a call takes as long as searching this much text."""

MAX_NOTES = 20

MAX_STEPS = 10_000
"""Maximum number of steps whose hits are counted."""

LARGE_ROWS = 50_000
"""A piece with more rows shows its hits before it is finished, in file order."""

TOGETHER_BYTES = 2**20
"""Texts of small pieces are searched together: starting takes as long as searching some hundred."""


class SearchStopped(Exception):
    """Raised within a search that is to end."""


class Pace:
    """The speed of a search; its threads share it."""

    def __init__(self) -> None:
        self._size_bytes = FIRST_BYTES

    def mapped(self, look: Callable[[pa.Array], Mask], column: pa.Array, go_on: Callable[[], bool]) -> Mask:
        """Apply `look` to a column of texts, a moment at a time. Raises `SearchStopped` if `go_on` returns False."""
        masks: list[Mask] = []
        first = 0
        while first < len(column) or not masks:
            if not go_on():
                raise SearchStopped
            stop, size_bytes = self._reach(column, first)
            began_s = time.thread_time()
            masks.append(look(column.slice(first, stop - first)))
            took_s = time.thread_time() - began_s
            if size_bytes >= LEAST_BYTES or took_s > MOMENT_S:
                self._size_bytes = max(LEAST_BYTES, int(size_bytes * MOMENT_S / max(took_s, 1e-6)))
            first = stop
        return masks[0] if len(masks) == 1 else np.concatenate(masks)

    def _reach(self, column: pa.Array, first: int) -> tuple[int, int]:
        """The end of the next texts to search, at least one, and their size in bytes."""
        ends = column.buffers()[1]
        if ends is None or not len(column):
            return len(column), 0
        offsets = np.frombuffer(ends, np.int32)[column.offset + first : column.offset + len(column) + 1]
        places = int(np.searchsorted(offsets, int(offsets[0]) + self._size_bytes, side="right")) - 1
        places = min(max(1, places), len(offsets) - 1)
        return first + places, int(offsets[places] - offsets[0])


class FoundRow(NamedTuple):
    """A matching row of the index."""

    piece: Piece
    row: int
    snippets: tuple[Snippet, ...]
    more: bool
    """True if it has more matches than snippets."""


class BatchTexts(NamedTuple):
    """The texts of a batch to search, column by column, and the numbers of their rows."""

    numbers: Rows
    columns: list[pa.Array]
    read: int
    """The number of rows of the batch."""
    is_scanned: bool


class Count:
    """The progress of all threads of a search; `by_step` also counts the hits of each step."""

    def __init__(self, *, by_step: bool = False) -> None:
        self.by_step = by_step
        self._steps: Counter[StepKey] = Counter()
        self._known_steps: set[StepKey] = set()
        self.lock = threading.Lock()
        self.samples = 0
        self.size_bytes = 0
        self.hits = 0
        self.from_sources = 0
        """Samples whose texts were read from their files, since the index lacks them."""
        self.notes: dict[str, None] = {}
        """The sources that could not be searched, and why."""

    def add(self, samples: int, size_bytes: int, hits: int, *, is_scanned: bool) -> None:
        """Count searched samples."""
        with self.lock:
            self.samples += samples
            self.size_bytes += size_bytes
            self.hits += hits
            self.from_sources += samples if is_scanned else 0

    def add_steps(self, hits: Mapping[StepKey, int]) -> None:
        """Count the hits of some steps; steps beyond `MAX_STEPS` are not counted."""
        with self.lock:
            for key, number in hits.items():
                if key in self._known_steps or len(self._known_steps) < MAX_STEPS:
                    self._known_steps.add(key)
                    self._steps[key] += number

    def take_steps(self) -> dict[StepKey, int]:
        """The hits of each step since the last call."""
        with self.lock:
            counts, self._steps = self._steps, Counter()
        return dict(counts)

    def note(self, reason: str) -> None:
        """Note an unsearchable source; a few reasons are enough."""
        with self.lock:
            if len(self.notes) < MAX_NOTES:
                self.notes[reason] = None


class SearchWork(NamedTuple):
    """The pattern, progress and pace that all parts of a search share."""

    run: OpenRun
    pattern: Pattern
    progress: Count
    pace: Pace
    oldest_first: bool


class SearchPart:
    """The search of one piece. `search_parts` works through it; `take` returns the hits since the last call."""

    def __init__(self, work: SearchWork, piece: Piece, rows: Rows | None) -> None:
        self.piece = piece
        self.pace = work.pace
        self._oldest_first = work.oldest_first
        self._run, self._pattern, self._count = work.run, work.pattern, work.progress
        self._rows = rows
        self._placed: PieceSteps | None = None
        roles = set(work.pattern.query.roles)
        self._spoken = Spoken(work.run, work.pattern, work.progress.note) if roles - {*COLUMNS} else None
        self._names = COLUMNS if self._spoken else [name for name in COLUMNS if name in (roles or COLUMNS)]
        self._hits: deque[FoundRow] = deque()
        self._pending: list[FoundRow] = []
        self._samples, self._bytes = piece.rows, piece.stop - piece.start

    def texts(self, go_on: Callable[[], bool]) -> Iterator[BatchTexts]:
        """Yield the texts to search that can be read. Raises `SearchStopped` if `go_on` returns False."""
        if self._rows is not None and not len(self._rows):
            return
        source = self._run.source(self.piece.source)
        try:
            for batch in read_texts(self._run.info, source, self.piece, self._names):
                if not go_on():
                    raise SearchStopped
                if batch.is_scanned and self.piece.path is not None:
                    self._run.lacks_texts(self.piece.path)
                yield self._selected(batch)
        except SourceChanged as error:
            self._count.note(str(error))

    def _selected(self, batch: TextBatch) -> BatchTexts:
        if self._rows is None:
            numbers = np.arange(batch.first, batch.first + len(batch))
            return BatchTexts(numbers, batch.columns, len(batch), batch.is_scanned)
        low, high = np.searchsorted(self._rows, [batch.first, batch.first + len(batch)])
        numbers, columns = self._rows[low:high], batch.columns
        if len(numbers) < len(batch):
            columns = [column.take(pa.array(numbers - batch.first)) for column in columns]
        return BatchTexts(numbers, columns, len(batch), batch.is_scanned)

    def mask(self, column: pa.Array) -> Mask:
        """Return which texts of a column may match; without roles, they do match."""
        return self._pattern.possibly(column) if self._spoken else self._pattern.within(column)

    def look(
        self, texts: BatchTexts, masks: Sequence[Mask], listing: Callable[[], bool], go_on: Callable[[], bool]
    ) -> None:
        """Count the matching rows, and keep those that are listed."""
        places = np.flatnonzero(np.logical_or.reduce(masks))
        if self._spoken is not None:
            rows = self._of_roles(texts.numbers[places], go_on)
            hits = len(rows)
            places = np.searchsorted(texts.numbers, [row.row for row in rows])
        else:
            rows = []
            for place in places:
                if not listing():
                    break
                if not go_on():
                    raise SearchStopped
                rows.append(self._row(texts, masks, int(place)))
            hits = len(places)
        self._pending += rows
        if self._count.by_step and hits:
            try:
                self._count.add_steps(self._count_by_step(texts.numbers[places]))
            except SourceChanged as error:
                self._count.note(f"{hits} samples were found and are in no count by step: {error}")
        share = (self.piece.stop - self.piece.start) * texts.read // self.piece.rows
        self._samples, self._bytes = self._samples - texts.read, self._bytes - share
        self._count.add(texts.read, share, hits, is_scanned=texts.is_scanned)
        if self.piece.rows > LARGE_ROWS:
            self._hits.extend(self._pending)
            self._pending = []

    def end(self) -> None:
        """Everything readable was searched."""
        self._hits.extend(self._in_order(self._pending))
        self._placed = None
        self._count.add(self._samples, self._bytes, 0, is_scanned=False)

    def take(self) -> list[FoundRow]:
        """Hits that were not taken yet."""
        return [self._hits.popleft() for _ in range(len(self._hits))]

    def _row(self, texts: BatchTexts, masks: Sequence[Mask], place: int) -> FoundRow:
        snippets: list[Snippet] = []
        more = False
        for name, column, mask in zip(self._names, texts.columns, masks, strict=True):
            if mask[place]:
                pieces, is_more = snippets_of(self._pattern, name, _encoded(column, place))
                snippets += pieces
                more = more or is_more
        return FoundRow(self.piece, int(texts.numbers[place]), tuple(snippets), more)

    def _of_roles(self, numbers: Rows, go_on: Callable[[], bool]) -> list[FoundRow]:
        """Search by role: the index does not know roles, so candidate samples are read whole."""
        assert self._spoken is not None
        return [
            FoundRow(self.piece, number, snippets, more)
            for number, snippets, more in self._spoken.among(self.piece, numbers, go_on)
        ]

    def _in_order(self, rows: list[FoundRow]) -> list[FoundRow]:
        """The rows of a piece in order: newest or oldest step first, in their own order within a step."""
        if len(rows) < 2 or self._is_of_one_step:
            return rows
        steps = self._row_steps().of(np.array([row.row for row in rows])).steps
        way = 1 if self._oldest_first else -1
        return [row for _, row in sorted(zip(steps, rows, strict=True), key=lambda pair: (way * pair[0], pair[1].row))]

    def _count_by_step(self, numbers: Rows) -> Mapping[StepKey, int]:
        if self._is_of_one_step:
            stats = self.piece.step_stats[0]
            return {(stats.split, stats.step): len(numbers)}
        places = self._row_steps().of(numbers)
        return Counter(zip(places.splits, places.steps, strict=True))

    @property
    def _is_of_one_step(self) -> bool:
        return len({(stats.split, stats.step) for stats in self.piece.step_stats}) < 2

    def _row_steps(self) -> "PieceSteps":
        """Split and step of each row of the piece, queried once."""
        if self._placed is None:
            sql = f"SELECT {PLACE[1]}, step, split FROM base ORDER BY {PLACE[1]}"
            table, reading = database.placed(self._run, Question([self.piece], sql))
            begin = reading.numbers([RowPlace(self.piece, 0)])[1][0].as_py()
            place, step, split = table.columns
            self._placed = PieceSteps(place.to_numpy() - begin, step.to_numpy(), split.combine_chunks())
        return self._placed


class RowSteps(NamedTuple):
    """The steps of some rows, and the splits."""

    steps: list[int]
    splits: list[str]


class PieceSteps(NamedTuple):
    """The rows of a piece, ascending, with their steps and splits."""

    rows: Rows
    steps: Rows
    splits: pa.Array

    def of(self, numbers: Rows) -> RowSteps:
        """The steps and splits of some rows."""
        places = np.searchsorted(self.rows, numbers)
        return RowSteps(self.steps[places].tolist(), self.splits.take(pa.array(places)).to_pylist())


def _encoded(column: pa.Array, place: int) -> bytes:
    """A text in a column, as UTF-8."""
    buffer = column[place].as_buffer()
    return b"" if buffer is None else buffer.to_pybytes()


def search_parts(parts: Sequence[SearchPart], listing: Callable[[], bool], go_on: Callable[[], bool]) -> None:
    """Search pieces until the end, or until `go_on` returns False; make snippets while `listing` returns True."""
    with contextlib.suppress(SearchStopped):
        for batch in _together((part, texts) for part in parts for texts in part.texts(go_on)):
            for (part, texts), masks in zip(batch, _masks(batch, go_on), strict=True):
                part.look(texts, masks, listing, go_on)
        for part in parts:
            if go_on():
                part.end()


def _together(batches: Iterable[tuple[SearchPart, BatchTexts]]) -> Iterator[list[tuple[SearchPart, BatchTexts]]]:
    batch: list[tuple[SearchPart, BatchTexts]] = []
    size_bytes = 0
    for part, texts in batches:
        batch.append((part, texts))
        size_bytes += sum(column.nbytes for column in texts.columns)
        if size_bytes >= TOGETHER_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _masks(batch: Sequence[tuple[SearchPart, BatchTexts]], go_on: Callable[[], bool]) -> list[list[Mask]]:
    """For each text the masks of its columns. Raises `SearchStopped` if `go_on` returns False."""
    columns = [pa.concat_arrays(pieces) for pieces in zip(*(texts.columns for _, texts in batch), strict=True)]
    ends = np.cumsum([len(texts.numbers) for _, texts in batch])[:-1]
    part = batch[0][0]
    masks = [np.split(part.pace.mapped(part.mask, column, go_on), ends) for column in columns]
    return [list(pieces) for pieces in zip(*masks, strict=True)]
