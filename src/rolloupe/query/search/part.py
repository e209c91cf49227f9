"""One piece of a run searched, in a thread of its own; what it found is taken from it while it goes on."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rolloupe.errors import SourceChanged
from rolloupe.index import OpenRun, Piece
from rolloupe.index.text_reading import TextBatch, read_texts
from rolloupe.query import engine
from rolloupe.query.engine import Question
from rolloupe.query.rows import PLACE, Place
from rolloupe.query.search.pattern import COLUMNS, Mask, Pattern
from rolloupe.query.search.roles import Spoken
from rolloupe.query.search.scope import Rows
from rolloupe.query.search.snippets import Snippet, snippets_of

MAX_NOTES = 20
LARGE_ROWS = 50_000
"""A piece with more rows shows what it has found before it is through, in the order of its file."""


class Row(NamedTuple):
    """A row of the index in which something was found."""

    piece: Piece
    row: int
    snippets: tuple[Snippet, ...]
    more: bool
    """True where there is more in it than the snippets show."""


class Count:
    """What has been searched, by all threads of a search."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.samples = 0
        self.size_bytes = 0
        self.found = 0
        self.from_sources = 0
        """Samples whose texts were read from their files, since the index has none of them."""
        self.notes: dict[str, None] = {}
        """What could not be searched, and why."""

    def add(self, samples: int, size_bytes: int, found: int, *, is_scanned: bool) -> None:
        """Count what was searched."""
        with self.lock:
            self.samples += samples
            self.size_bytes += size_bytes
            self.found += found
            self.from_sources += samples if is_scanned else 0

    def note(self, reason: str) -> None:
        """Note what could not be searched; a few reasons are enough."""
        with self.lock:
            if len(self.notes) < MAX_NOTES:
                self.notes[reason] = None


class Part:
    """The search of one piece. `run` works through it; `take` has what was found since."""

    def __init__(self, opened: OpenRun, pattern: Pattern, piece: Piece, rows: Rows | None, count: Count) -> None:
        self.piece = piece
        self._opened = opened
        self._pattern = pattern
        self._rows = rows
        self._count = count
        self._spoken = Spoken(opened, pattern) if set(pattern.query.roles) - {*COLUMNS} else None
        self._names = COLUMNS if self._spoken else [n for n in COLUMNS if n in (pattern.query.roles or COLUMNS)]
        self._found: deque[Row] = deque()

    def run(self, listing: Callable[[], bool], go_on: Callable[[], bool]) -> None:
        """Search until the end, or until `go_on` says no; snippets are made while `listing` says yes."""
        samples, size_bytes = self.piece.rows, self.piece.stop - self.piece.start
        held: list[Row] = []
        try:
            for batch in self._batches():
                if not go_on():
                    return
                rows, found = self._of_batch(batch, listing, go_on)
                held += rows
                share = size_bytes * len(batch) // self.piece.rows
                samples, size_bytes = samples - len(batch), size_bytes - share
                self._count.add(len(batch), share, found, is_scanned=batch.is_scanned)
                if self.piece.rows > LARGE_ROWS:
                    self._found.extend(held)
                    held = []
        except SourceChanged as error:
            self._count.note(str(error))
        finally:
            if go_on():
                self._found.extend(self._newest_first(held))
                self._count.add(samples, size_bytes, 0, is_scanned=False)

    def _batches(self) -> Iterator[TextBatch]:
        if self._rows is not None and not len(self._rows):
            return iter(())
        source = self._opened.source(self.piece.source)
        return read_texts(self._opened.info, source, self.piece, self._names)

    def take(self) -> list[Row]:
        """What was found and not taken yet."""
        return [self._found.popleft() for _ in range(len(self._found))]

    def _of_batch(
        self, batch: TextBatch, listing: Callable[[], bool], go_on: Callable[[], bool]
    ) -> tuple[list[Row], int]:
        """The rows of a batch in which something was found, as far as they are listed, and how many there are."""
        columns, numbers = batch.columns, np.arange(batch.first, batch.first + len(batch))
        if self._rows is not None:
            low, high = np.searchsorted(self._rows, [batch.first, batch.first + len(batch)])
            if low == high:
                return [], 0
            numbers = self._rows[low:high]
            if len(numbers) < len(batch):
                columns = [column.take(pa.array(numbers - batch.first)) for column in columns]
        if self._spoken is not None:
            return self._of_roles(columns, numbers, go_on)
        masks = [self._pattern.within(column) for column in columns]
        places = np.flatnonzero(np.logical_or.reduce(masks))
        return [self._row(int(numbers[place]), columns, masks, int(place)) for place in places if listing()], len(
            places
        )

    def _row(self, number: int, columns: Sequence[pa.Array], masks: Sequence[Mask], place: int) -> Row:
        snippets: list[Snippet] = []
        more = False
        for name, column, mask in zip(self._names, columns, masks, strict=True):
            if mask[place]:
                own, is_more = snippets_of(self._pattern, name, _encoded(column, place))
                snippets += own
                more = more or is_more
        return Row(self.piece, number, tuple(snippets), more)

    def _of_roles(self, columns: Sequence[pa.Array], numbers: Rows, go_on: Callable[[], bool]) -> tuple[list[Row], int]:
        """What some roles say is known to the samples alone: those in which it may stand are read whole."""
        assert self._spoken is not None
        masks = [self._pattern.possibly(column) for column in columns]
        rows = []
        for number, snippets, more in self._spoken.among(
            self.piece, numbers[np.flatnonzero(np.logical_or.reduce(masks))], go_on
        ):
            rows.append(Row(self.piece, number, snippets, more))
        return rows, len(rows)

    def _newest_first(self, rows: list[Row]) -> list[Row]:
        """The rows of a piece in order: newest step first, within a step as they stand."""
        if len(rows) < 2 or len({sketch.step for sketch in self.piece.sketches}) < 2:
            return rows
        steps = self._steps([row.row for row in rows])
        return [row for _, row in sorted(zip(steps, rows, strict=True), key=lambda pair: (-pair[0], pair[1].row))]

    def _steps(self, numbers: Sequence[int]) -> list[int]:
        sql = f"SELECT {PLACE[1]}, step FROM base ORDER BY {PLACE[1]}"
        table, reading = engine.placed(self._opened, Question([self.piece], sql))
        begin = reading.numbers([Place(self.piece, 0)])[1][0].as_py()
        place, step = (column.to_numpy() for column in table.columns)
        found: list[int] = step[np.searchsorted(place, np.array(numbers) + begin)].tolist()
        return found


def _encoded(column: pa.Array, place: int) -> bytes:
    """A text as it lies in a column: UTF-8."""
    buffer = column[place].as_buffer()
    return b"" if buffer is None else buffer.to_pybytes()
