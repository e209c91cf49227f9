"""Search of the pieces of a run and of its reports, in threads of their own; readers take hits while it continues."""

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from rolloupe import text as full_text
from rolloupe.errors import SourceChanged, UnreadablePath
from rolloupe.formats.base import StepReport, TranscriptQuery
from rolloupe.index import OpenRun, Piece, StepKey
from rolloupe.index.segments.texts import TextBatch, read_texts
from rolloupe.model import Locator, SampleKey, Turn
from rolloupe.query.engine import database
from rolloupe.query.engine.relation import PLACE, RowPlace
from rolloupe.query.sample.load import read_sample
from rolloupe.query.search.pattern import COLUMNS, Pattern, Rows, SearchStopped
from rolloupe.query.search.roles import Snippet, snippets_in, snippets_of
from rolloupe.tokens import Flags

MOMENT_S = 0.05  # target duration of a call; a single text that takes longer is searched in one call
FIRST_BYTES = 256 * 1024  # amount of text for the first call, before its speed is known
LEAST_BYTES = 16 * 1024  # starting a call takes as long as searching this much text
MAX_NOTES = 20
MAX_STEPS = 10_000  # maximum number of steps whose hits are counted
LARGE_ROWS = 50_000  # a piece with more rows shows its hits before it is finished, in file order
TOGETHER_BYTES = 2**20  # texts of small pieces are searched together: starting takes as long as searching some hundred

PLACED = "split, step, grp, idx, source, byte_start, byte_length, part"


class FoundRow(NamedTuple):
    """A matching row of the index."""

    piece: Piece
    row: int
    snippets: tuple[Snippet, ...]
    more: bool  # true if it has more matches than snippets


class Transcript(NamedTuple):
    """A logged text with a match that no sample shows; `at` is its place in the step's report."""

    split: str
    step: int
    title: str
    at: str
    snippets: tuple[Snippet, ...]
    more: bool  # true if it has more matches than snippets


class SearchWork:
    """What the threads of a search share: its pattern, its pace and its progress; with `by_step`, hits of each step."""

    def __init__(
        self, run: OpenRun, pattern: Pattern, stopped: Callable[[], bool], *, oldest_first: bool, by_step: bool
    ) -> None:
        self.run, self.pattern, self._stopped = run, pattern, stopped
        self.oldest_first, self.by_step = oldest_first, by_step
        self.is_closed = False
        self.is_listing = True
        """False once enough hits are listed: later hits are only counted."""
        self.lock = threading.Lock()
        self.samples = 0
        self.size_bytes = 0
        self.hits = 0
        self.from_sources = 0
        """Samples whose texts were read from their files, since the index lacks them."""
        self.notes: dict[str, None] = {}
        """The sources that could not be searched, and why."""
        self._steps: Counter[StepKey] = Counter()
        self._known_steps: set[StepKey] = set()
        self._call_bytes = FIRST_BYTES

    def check(self) -> None:
        """Raise `SearchStopped` if the search is to end."""
        if self.is_closed or self._stopped():
            raise SearchStopped

    def add(self, samples: int, size_bytes: int, hits: int = 0, *, is_scanned: bool = False) -> None:
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
        """Return the hits of each step since the last call."""
        with self.lock:
            counts, self._steps = self._steps, Counter()
        return dict(counts)

    def note(self, reason: str) -> None:
        """Note an unsearchable source; a few reasons are enough."""
        with self.lock:
            if len(self.notes) < MAX_NOTES:
                self.notes[reason] = None

    def mapped(self, look: Callable[[pa.Array], Flags], column: pa.Array) -> Flags:
        """Apply `look` to a column of texts, a moment at a time. Raises `SearchStopped`."""
        masks: list[Flags] = []
        first = 0
        while first < len(column) or not masks:
            self.check()
            stop, size_bytes = self._reach(column, first)
            began_s = time.thread_time()
            masks.append(look(column.slice(first, stop - first)))
            took_s = time.thread_time() - began_s
            if size_bytes >= LEAST_BYTES or took_s > MOMENT_S:
                self._call_bytes = max(LEAST_BYTES, int(size_bytes * MOMENT_S / max(took_s, 1e-6)))
            first = stop
        return masks[0] if len(masks) == 1 else np.concatenate(masks)

    def _reach(self, column: pa.Array, first: int) -> tuple[int, int]:
        """Return the end of the next texts to search, at least one, and their size in bytes."""
        ends = column.buffers()[1]
        if ends is None or not len(column):
            return len(column), 0
        offsets = np.frombuffer(ends, np.int32)[column.offset + first : column.offset + len(column) + 1]
        places = int(np.searchsorted(offsets, int(offsets[0]) + self._call_bytes, side="right")) - 1
        places = min(max(1, places), len(offsets) - 1)
        return first + places, int(offsets[places] - offsets[0])


class BatchTexts(NamedTuple):
    """The texts of a batch to search, column by column, and the numbers of their rows."""

    part: "SearchPart"
    numbers: Rows
    columns: list[pa.Array]
    read: int  # the number of rows of the batch
    is_scanned: bool


class SearchPart:
    """The search of one piece. `search_parts` works through it; `take` returns the hits since the last call."""

    def __init__(self, work: SearchWork, piece: Piece, rows: Rows | None) -> None:
        self.piece, self._work, self._rows = piece, work, rows
        self._row_steps: tuple[Rows, Rows, pa.Array] | None = None
        """The rows of the piece, ascending, with their steps and splits, once these are asked for."""
        roles = set(work.pattern.query.roles)
        self._by_role = bool(roles - {*COLUMNS})
        self._names = COLUMNS if self._by_role else [name for name in COLUMNS if name in (roles or COLUMNS)]
        self.mask = work.pattern.possibly if self._by_role else work.pattern.within
        """Returns which texts of a column may match; without roles, they do match."""
        self._hits: deque[FoundRow] = deque()
        self._pending: list[FoundRow] = []
        self.rows = self._samples = piece.rows
        self._bytes = piece.stop - piece.start
        steps = {(stats.split, stats.step) for stats in piece.step_stats}
        self._only_step = next(iter(steps)) if len(steps) == 1 else None

    def texts(self) -> Iterator[BatchTexts]:
        """Yield the texts to search that can be read. Raises `SearchStopped`."""
        run = self._work.run
        if self._rows is not None and not len(self._rows):
            return
        try:
            for batch in read_texts(run.info, run.sources.get(self.piece.source), self.piece, self._names):
                self._work.check()
                if batch.is_scanned and self.piece.path is not None:
                    run.note_missing_texts(self.piece.path)
                yield self._selected(batch)
        except SourceChanged as error:
            self._work.note(str(error))

    def _selected(self, batch: TextBatch) -> BatchTexts:
        numbers, columns = np.arange(batch.first, batch.first + len(batch)), batch.columns
        if self._rows is not None:
            low, high = np.searchsorted(self._rows, [batch.first, batch.first + len(batch)])
            numbers = self._rows[low:high]
        if len(numbers) < len(batch):
            columns = [column.take(pa.array(numbers - batch.first)) for column in columns]
        return BatchTexts(self, numbers, columns, len(batch), batch.is_scanned)

    def look(self, texts: BatchTexts, masks: Sequence[Flags]) -> None:
        """Count the matching rows, and keep those that are listed. Raises `SearchStopped`."""
        work, rows = self._work, list[FoundRow]()
        places = np.flatnonzero(np.logical_or.reduce(masks))
        hits = len(places)
        if self._by_role:  # the index does not know roles, so candidates are read whole
            rows += self._rows_of_roles(texts.numbers[places])
            hits = len(rows)
            places = np.searchsorted(texts.numbers, [row.row for row in rows])
        else:
            for place in places:
                if not work.is_listing:
                    break
                work.check()
                rows.append(self._row(texts, masks, int(place)))
        self._pending += rows
        if work.by_step and hits:
            try:
                only = self._only_step
                work.add_steps(Counter(self._steps_of(texts.numbers[places])) if only is None else {only: hits})
            except SourceChanged as error:
                work.note(f"{hits} samples were found and are in no count by step: {error}")
        share = (self.piece.stop - self.piece.start) * texts.read // self.rows
        self._samples, self._bytes = self._samples - texts.read, self._bytes - share
        work.add(texts.read, share, hits, is_scanned=texts.is_scanned)
        if self.rows > LARGE_ROWS:
            self._hits.extend(self._pending)
            self._pending = []

    def end(self) -> None:
        """Put the hits in order, newest or oldest step first: everything readable was searched."""
        rows = self._pending
        if len(rows) > 1 and self._only_step is None:
            steps = [step for _, step in self._steps_of(np.array([row.row for row in rows]))]
            way = 1 if self._work.oldest_first else -1
            numbered = sorted(zip(steps, rows, strict=True), key=lambda pair: (way * pair[0], pair[1].row))
            rows = [row for _, row in numbered]
        self._hits.extend(rows)
        self._row_steps = None
        self._work.add(self._samples, self._bytes)

    def take(self) -> list[FoundRow]:
        """Return hits that were not taken yet."""
        return [self._hits.popleft() for _ in range(len(self._hits))]

    def _row(self, texts: BatchTexts, masks: Sequence[Flags], place: int) -> FoundRow:
        snippets: list[Snippet] = []
        more = False
        for name, column, mask in zip(self._names, texts.columns, masks, strict=True):
            if mask[place]:
                buffer = column[place].as_buffer()
                encoded = b"" if buffer is None else buffer.to_pybytes()
                pieces, is_more = snippets_of(self._work.pattern, name, encoded)
                snippets += pieces
                more = more or is_more
        return FoundRow(self.piece, int(texts.numbers[place]), tuple(snippets), more)

    def _rows_of_roles(self, numbers: Rows) -> Iterator[FoundRow]:
        """Read samples whole, and yield those that match; notes a sample that can no longer be read."""
        run, pattern = self._work.run, self._work.pattern
        places = [RowPlace(self.piece, number) for number in numbers.tolist()]
        sql = f"SELECT nth, {PLACED} FROM rows JOIN places USING ({', '.join(PLACE)}) ORDER BY nth"
        rows = database.ask(run, database.Question([self.piece] if places else (), sql, at=places))
        for nth, split, step, group, index, source, start, length, part in rows:
            self._work.check()
            locator = Locator(source=source, start=start, length=length, part=part)
            try:
                sample = read_sample(run, SampleKey(split, step, group, index), locator)
            except SourceChanged as error:
                self._work.note(str(error))
                continue
            snippets, more = snippets_in(pattern, sample.turns)
            if snippets:
                yield FoundRow(self.piece, places[nth].row, tuple(snippets), more)

    def _steps_of(self, numbers: Rows) -> list[StepKey]:
        """Return split and step of some rows; those of the piece are queried once."""
        if self._row_steps is None:
            sql = f"SELECT {PLACE[1]}, step, split FROM base ORDER BY {PLACE[1]}"
            table, reading = database.placed(self._work.run, database.Question([self.piece], sql))
            begin = reading.numbers([RowPlace(self.piece, 0)])[1][0].as_py()
            place, step, split = table.columns
            self._row_steps = place.to_numpy() - begin, step.to_numpy(), split.combine_chunks()
        rows, steps, splits = self._row_steps
        places = np.searchsorted(rows, numbers)
        return list(zip(splits.take(pa.array(places)).to_pylist(), steps[places].tolist(), strict=True))


def search_parts(work: SearchWork, parts: Sequence[SearchPart]) -> None:
    """Search pieces until the end, or until the search is stopped; make snippets while hits are listed."""
    with contextlib.suppress(SearchStopped):
        for batch in _together(texts for part in parts for texts in part.texts()):
            ends = np.cumsum([len(texts.numbers) for texts in batch])[:-1]
            pieces = zip(*(texts.columns for texts in batch), strict=True)
            columns = [pa.concat_arrays(several) if len(several) > 1 else several[0] for several in pieces]
            masks = [np.split(work.mapped(parts[0].mask, column), ends) for column in columns]
            for texts, *own in zip(batch, *masks, strict=True):
                texts.part.look(texts, own)
        for part in parts:
            work.check()
            part.end()


def _together(batches: Iterable[BatchTexts]) -> Iterator[list[BatchTexts]]:
    batch: list[BatchTexts] = []
    size_bytes = 0
    for texts in batches:
        batch.append(texts)
        size_bytes += sum(column.nbytes for column in texts.columns)
        if size_bytes >= TOGETHER_BYTES:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def transcripts_in(work: SearchWork, report: StepReport) -> list[Transcript]:
    """Search one report; return nothing once the search is stopped. Notes unreadable logs."""
    pattern, check = work.pattern, work.check

    def holds(turns: Sequence[Turn]) -> bool:
        check()
        return bool(snippets_in(pattern, _answered(turns), check)[0])

    hits = []
    try:
        for transcript in report.search(TranscriptQuery(pattern.word, holds, check)):
            snippets, more = snippets_in(pattern, _answered(transcript.turns), check)
            place = transcript.split, transcript.step, transcript.title, transcript.at
            hits.append(Transcript(*place, tuple(snippets), more))
    except UnreadablePath as error:
        work.note(str(error))
        return []
    except SearchStopped:
        return []
    return hits


def _answered(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield the turns of a conversation without a sample: its response begins at the first assistant turn."""
    first = full_text.first_answer(turns)
    return chain(turns[:first], (replace(turn, origin="response") for turn in turns[first:]))
