"""Formats of JSON lines: a sample is a line, or an object in a line, and its place is a byte offset.

An unreadable line is a `Problem` with its byte range; no line can end a scan. `PromptRuns` is for
trainers that store no groups: a group is the lines with the same prompt that follow each other.
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from io import BufferedReader
from typing import BinaryIO, ClassVar, NamedTuple, TypeVar

from rolloupe import tokens
from rolloupe.formats.base import NO_ANNOTATIONS, Annotations, changed, no_sample
from rolloupe.formats.reading import files, line_reader, peek
from rolloupe.formats.reading.arrays import Cutter
from rolloupe.formats.reading.record_blocks import BLOCK_BYTES, PATIENCE, BlockReader, RecordBlock
from rolloupe.formats.reading.records import Completion, Record, RecordFormat, Uncut, Unusable, row_at
from rolloupe.formats.reading.stream import Gap, damage_of, gaps_of, is_decoded, open_binary
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunInfo, Sample, SampleColumns, SampleRow, Scanned, Source
from rolloupe.storage import expect, file_state
from rolloupe.tokens import SampleTokens

RAW_BUFFER_BYTES = 2**13
AFTER_BYTES = 2**16
"""A line that begins in a range usually ends within this many bytes after it."""
EDGES = (b"\n", b"\0")
"""Bytes that may surround a line: the end of a line, or a hole."""
OF_ARRAY = (b"[", b"]", b"],", b",")
"""Lines that may stand around the objects of an array."""
OTHER_BOUNDS = "the line begins or ends elsewhere"
BlockCompletion = Callable[[RecordBlock, SampleColumns], None]
Annotate = Callable[[RunInfo, Record, Sample], None]
T = TypeVar("T")


class _Scan(NamedTuple):
    """The run, the source and the functions that all lines of a scan share."""

    run: RunInfo
    source: Source
    read: Callable[[bytes], Record]
    complete: Completion

    def record(self, line: line_reader.Line, read: Callable[[bytes], Record]) -> Record:
        """Read the object of a line. Raises `Unusable`."""
        if line.data is None:
            raise Unusable(line.reason)
        return read(line_reader.strip_bom(line.data, line.start))


class JsonlFormat(RecordFormat):
    """A format of JSON lines: a record is the object of a line, and a sample's place is its byte offset."""

    splittable = True
    suffixes: ClassVar[tuple[str, ...]] = files.JSONL

    def first_records(self, some: Sequence[Location]) -> list[Record]:
        return peek.first_records(some)

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        return self.scanned(run, source, start, stop, lambda _record, _row: None)

    def scanned(self, run: RunInfo, source: Source, start: int, stop: int, complete: Completion) -> Iterator[Scanned]:
        """Scan, and add to each row what other files say about it."""
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            decoded = is_decoded(file)
            expect(file, [(0, line_reader.MAX_LFS_POINTER_BYTES), (start - 1, stop + AFTER_BYTES)])
            head = b"" if decoded else file.read(line_reader.MAX_LFS_POINTER_BYTES)
            if reason := line_reader.why_no_text(head, len(head)):
                if start == 0 < stop:
                    yield Problem(source=source.name, reason=reason, start=0, stop=len(head))
                return
            reported_to = start
            is_cut = type(self).may_cut is not RecordFormat.may_cut and not run.reading.fields
            needs_length = (lambda _key: False) if run.reading.group_by else self.needs_length
            read = Cutter(line_reader.parse, self.may_cut, needs_length).parse if is_cut else line_reader.parse
            scan = _Scan(run, source, read, complete)
            for line in line_reader.lines(file, start, stop):
                if not decoded:
                    yield from self._items(scan, line)
                    continue
                gaps = [gap for gap in gaps_of(file) if reported_to <= gap.start < stop]
                yield from (_missing(source, gap) for gap in gaps if gap.start < line.start)
                yield from self._items_at_damage(scan, file, line)
                yield from (_missing(source, gap) for gap in gaps if line.start <= gap.start <= line.stop)
                reported_to = line.stop + 1
            yield from (_missing(source, gap) for gap in gaps_of(file) if reported_to <= gap.start < stop)

    def columns(self, run: RunInfo, source: Source, block: RecordBlock) -> SampleColumns | None:  # noqa: ARG002
        """Return the samples of a block of records: what `rows_of` returns for each. None where that is in doubt."""
        return None

    def scan_columns(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned | SampleColumns]:
        return self.scanned_columns(run, source, start, stop, lambda _block, _samples: None)

    def scanned_columns(
        self, run: RunInfo, source: Source, start: int, stop: int, complete: BlockCompletion
    ) -> Iterator[Scanned | SampleColumns]:
        """Scan block by block, and line by line where `columns` returns None; complete the samples of each block."""
        at = start
        if has_columns(type(self)) and not (run.reading.fields or run.reading.group_by or run.reading.reward_key):
            for begin, at, samples in self._blocks(run, source, start, stop, complete):
                if samples is None:
                    yield from self.scan(run, source, begin, at)
                else:
                    yield samples
        if at < stop:
            yield from self.scan(run, source, at, stop)

    def _blocks(
        self, run: RunInfo, source: Source, start: int, stop: int, complete: BlockCompletion
    ) -> Iterator[tuple[int, int, SampleColumns | None]]:
        """Yield the begin, the end and the samples of each block of a plain file, until several had none in a row."""
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            expect(file, [(0, line_reader.MAX_LFS_POINTER_BYTES), (start - 1, stop + AFTER_BYTES)])
            head = b"" if is_decoded(file) else file.read(line_reader.MAX_LFS_POINTER_BYTES)
            if not head or line_reader.why_no_text(head, len(head)):
                return
            at, reader, misses = line_reader.line_start(file, start, stop), BlockReader(), 0
            buffer = memoryview(whole := bytearray(max(0, min(BLOCK_BYTES, stop - at))))
            while at < stop and misses < PATIENCE:
                file.seek(at)
                size = whole.rfind(b"\n", 0, file.readinto(buffer[: stop - at])) + 1
                if not size:
                    return
                samples = None
                with contextlib.suppress(Exception):  # a defect must not cost the lines: they are read one by one
                    if (block := reader.read(whole, size, at)) and (found := self.columns(run, source, block)):
                        complete(block, found)
                        samples = found
                yield at, at + size, samples
                misses = misses + 1 if samples is None else 0
                at += size

    def _items_at_damage(self, scan: _Scan, file: BinaryIO, line: line_reader.Line) -> Iterator[Scanned]:
        """Yield the results of a line of a compressed file; if damage cuts the line, the damage."""
        cut = None if line.ended else damage_of(file)
        torn = cut or any(gap.start == line.stop or gap.stop == line.start for gap in gaps_of(file))
        for item in self._items(scan, line):
            if not (torn and isinstance(item, Problem)):
                yield item
        if cut:
            reason = f"{cut.reason}, at byte {cut.offset} of the compressed file; no line behind it is read"
            yield Problem(source=scan.source.name, reason=reason, start=line.start, stop=line.stop, transient=True)

    def _items(self, scan: _Scan, line: line_reader.Line) -> list[Scanned]:
        run, source = scan.run, scan.source
        if line.data is not None and not line.content:  # blank
            return []
        try:
            try:
                record = self.prepared(run, scan.record(line, scan.read))
                rows = self.rows_of(run, source, record, line.start, line.length)
            except Uncut:
                record = self.prepared(run, scan.record(line, line_reader.parse))
                rows = self.rows_of(run, source, record, line.start, line.length)
            for row in rows:
                if isinstance(row, SampleRow):
                    scan.complete(record, row)
        except Unusable as error:
            if isinstance(error, line_reader.NoObject):
                pieces = line_reader.pieces_in(line.data or b"", is_ended=line.ended)
                if pieces.objects or (line.data or b"").strip(line_reader.BLANK) in OF_ARRAY:
                    return self._pieces(scan, line, pieces, str(error))
            reason = str(error) if line.ended else f"the last line has no end yet ({error})"
        except Exception as error:  # a defect must not cost the lines after it
            reason = self.failure(error)
        else:
            return rows
        return [Problem(source=source.name, reason=reason, start=line.start, stop=line.stop, transient=not line.ended)]

    def _pieces(
        self, scan: _Scan, line: line_reader.Line, pieces: line_reader.LinePieces, reason: str
    ) -> list[Scanned]:
        """Return the results of the objects in a line, each with its own place, and a problem for the rest."""
        items: list[Scanned] = []
        whole = line.data or b""
        for start, stop in pieces.objects:
            is_ended = line.ended or bool(whole[stop:].strip(line_reader.BLANK))
            piece = line_reader.Line(line.start + start, stop - start, whole[start:stop], is_ended)
            items += self._items(scan._replace(read=line_reader.parse), piece)
        if pieces.torn:
            start, stop = (line.start + at for at in pieces.torn)
            what = f"{reason}; its whole objects are read; bytes {start} to {stop} are not"
            name, is_open = scan.source.name, not line.ended
            items.append(Problem(source=name, reason=what, start=line.start, stop=line.stop, transient=is_open))
        return items

    def token_arrays(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotations: Annotations = NO_ANNOTATIONS
    ) -> Iterator[SampleTokens | Problem]:
        """See `Format`: reads the file once, from the first place to the last."""
        return _read_in_order(source, places, self.reading_tokens(run, source, annotations))

    def samples_in_order(
        self, run: RunInfo, source: Source, places: Sequence[Locator], annotate: Annotate
    ) -> Iterator[Sample | Problem]:
        """`samples_at` for a format whose samples are complete lines: reads the file once."""
        return _read_in_order(source, places, lambda data, place: self._sample(run, source, data, place, annotate))

    def reading_tokens(
        self, run: RunInfo, source: Source, annotations: Annotations,  # noqa: ARG002
    ) -> Callable[[bytes, Locator], SampleTokens]:  # fmt: skip
        """Return a function that reads the tokens of the sample at a place from its line. It may raise anything."""
        return lambda data, place: tokens.tokens_of(self._sample(run, source, data, place, self.annotate))

    def _sample(self, run: RunInfo, source: Source, data: bytes, place: Locator, annotate: Annotate) -> Sample:
        record, row = self._parsed(run, source, data, place)
        sample = self.sample(record, row, place)
        annotate(run, record, sample)
        return sample

    def lines_at(self, run: RunInfo, places: Iterable[Locator]) -> dict[Locator, bytes]:
        """Read lines of annotations; those that cannot be read are left out."""
        sources = {source.name: source for source in self.sources(run) if source.annotates}
        lines_by_place: dict[Locator, bytes] = {}
        by_source: dict[str, list[Locator]] = defaultdict(list)
        for place in sorted({*places}, key=lambda place: place.start):
            by_source[place.source].append(place)
        for name, some in by_source.items():
            if name not in sources:
                continue
            with contextlib.suppress(OSError), open_binary(sources[name].location, RAW_BUFFER_BYTES) as file:
                expect(file, [(place.start - 1, place.start + place.length + 1) for place in some])
                for place in some:
                    if (data := _line_of(file, place)) is not None:
                        lines_by_place[place] = line_reader.strip_bom(data, place.start)
        return lines_by_place

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        return self.loaded(run, source, locator, self.annotate)

    def loaded(self, run: RunInfo, source: Source, locator: Locator, annotate: Annotate) -> Sample:
        """Read a sample, and add to it what other files say about it."""
        data, record, row = self._read(run, source, locator)
        sample = self.sample(record, row, locator)
        annotate(run, record, sample)
        sample.notes += line_reader.replacements(data)
        return sample

    def _record_and_row(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow]:
        return self._read(run, source, locator)[1:]

    def record_at(self, run: RunInfo, source: Source, locator: Locator) -> tuple[Record, SampleRow] | None:
        record, row = self._record_and_row(run, source, locator)
        return self.own_record(record, row), row

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        """Read the record at a place: its bytes, its object, and the row of the sample."""
        data = self.raw(source, locator)
        return data, *self._parsed(run, source, line_reader.strip_bom(data, locator.start), locator)

    def _parsed(self, run: RunInfo, source: Source, data: bytes, locator: Locator) -> tuple[Record, SampleRow]:
        try:
            is_cut = bool(self.series_keys) and not run.reading.fields
            read = Cutter(line_reader.parse, self.series_keys.__contains__).parse if is_cut else line_reader.parse
            record = self.prepared(run, read(data))
            rows = self.rows_of(run, source, record, locator.start, locator.length)
        except Unusable as error:
            raise changed(source, locator.start, str(error)) from None
        return record, row_at(rows, source, locator)

    def raw(self, source: Source, locator: Locator) -> bytes:
        """See `Format`. The bytes are uncompressed."""
        before = 1 if locator.start else 0
        data = self.read(source, locator.start - before, before + locator.length + 1)
        record, after = data[before : before + locator.length], data[before + locator.length :]
        is_line = (not before or data[:1] in EDGES) and after in (b"", *EDGES)
        if len(record) < locator.length or not (is_line or _is_object(record)):
            raise changed(source, locator.start, OTHER_BOUNDS)
        return record


_MEANING = ("row", "rows", "rows_of", "prepared", "roles", "known_roles", "stores_group", "scan")


@cache
def has_columns(own: type) -> bool:
    """Return whether `columns` of a format knows what its records mean: no class below has another meaning for them."""
    places = {name: place for place, base in [*enumerate(own.__mro__)][::-1] for name in vars(base)}
    of_meaning = (places[name] for name in _MEANING if name in places)
    return own.__mro__[places["columns"]] is not JsonlFormat and places["columns"] <= min(of_meaning)


def _is_object(data: bytes) -> bool:
    """Return whether bytes within a line are an object."""
    return data[:1] == b"{" and data[-1:] == b"}" and line_reader.pieces_in(data).objects == [(0, len(data))]


def _read_in_order(
    source: Source, places: Sequence[Locator], read: Callable[[bytes, Locator], T]
) -> Iterator[T | Problem]:
    """Read a file once, from the first place to the last; yield the result of `read` for each, or its problem."""
    if not places:
        return
    with open_binary(source.location, RAW_BUFFER_BYTES) as file:
        expect(file, [(place.start - 1, place.start + place.length + 1) for place in places])
        for place, data in zip(places, lines_of_samples(file, places), strict=True):
            if data is None:
                yield no_sample(source, place, changed(source, place.start, OTHER_BOUNDS))
                continue
            try:
                yield read(line_reader.strip_bom(data, place.start), place)
            except Exception as error:  # must not cost the lines after it
                yield no_sample(source, place, error)


def lines_of_samples(file: BufferedReader, places: Sequence[Locator]) -> Iterator[bytes | None]:
    """Yield the line at each place: one line for all samples that it holds."""
    before, data = (-1, -1), None
    for place in places:
        if (place.start, place.length) != before:
            before, data = (place.start, place.length), _line_of(file, place)
        yield data


def _line_of(file: BufferedReader, place: Locator) -> bytes | None:
    """Read the line at a place without searching for its end, which halves the time; None if no line is there."""
    file.seek(max(0, place.start - 1))
    begins = not place.start or file.read(1) in EDGES
    data = file.read(place.length)
    is_line = begins and file.read(1) in (b"", *EDGES) and b"\n" not in data
    return data if len(data) == place.length and (is_line or _is_object(data)) else None


def _missing(source: Source, gap: Gap) -> Problem:
    place = f"at byte {gap.damage.offset} of the compressed file"
    reason = f"{gap.damage.reason}, {place}; read on where the next frame begins"
    return Problem(source=source.name, reason=reason, start=gap.start, stop=gap.stop)


# Groups of trainers that store none: lines with the same prompt that follow each other.
#
# The name of such a group has its prompt and its first line, so a prompt that a step asks twice has two
# groups. A scan that begins inside a group looks back to where the group begins, and so does loading a sample. In a
# long group, it looks back only to the nearest line whose group is remembered.

FIRST_BYTES = 2**17
"""Bytes to read backwards at first; then four times as many at a time, up to `MOST_BYTES`."""
MOST_BYTES = 2**23
MARK_BYTES = 2**16
"""The distance between remembered lines of a group."""


class _MarkedLine(NamedTuple):
    """A remembered line: its length, its prompt, and where its group begins."""

    length: int
    prompt: str
    begin: int


_marks: Lru[tuple[Location, int, int], _MarkedLine] = Lru(entries=2**16)
"""By file, inode and the first byte of the line."""


class _Last:
    """The prompt of the last line of a scan, where its group begins, its last remembered line, and its end."""

    prompt = ""
    begin = -1
    marked = 0
    stop = -1


class PromptRuns(JsonlFormat):
    """A format whose `row` names a group after its prompt; consecutive lines with that prompt become the group."""

    def stores_group(self, record: Record) -> bool:  # noqa: ARG002
        """Return whether a record names its group, which then stays."""
        return False

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        return self.scanned(run, source, start, stop, partial(self._follow, run, source, _Last()))

    def _follow(self, run: RunInfo, source: Source, last: _Last, record: Record, row: SampleRow) -> None:
        if not (run.reading.group_by or self.stores_group(record)):
            row.group = self._next(run, source, last, row.group, row.start, row.length)

    def _next(self, run: RunInfo, source: Source, last: _Last, prompt: str, start: int, length: int) -> str:
        """Return the group of the next line of a scan, given the name of its prompt."""
        if prompt != last.prompt or last.begin < 0:
            last.begin = self._begin(run, source, prompt, start, length) if last.begin < 0 else start
            last.prompt, last.marked = prompt, start
        elif start - last.marked >= MARK_BYTES:
            last.marked = start
            _remember(source, file_state(source.location).st_ino, start, _MarkedLine(length, prompt, last.begin))
        return f"{prompt}-{last.begin}"

    def scan_columns(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned | SampleColumns]:
        return self.scanned_columns(run, source, start, stop, partial(self._follow_all, run, source, _Last()))

    def _follow_all(
        self, run: RunInfo, source: Source, last: _Last, block: RecordBlock, samples: SampleColumns
    ) -> None:
        if self.stores_group(block.first):
            return
        if block.starts[0] != last.stop:  # other lines were read between the blocks
            last.begin = -1
        last.stop = block.starts[-1] + block.lengths[-1] + 1
        places = zip(samples.fields["group"], block.starts, block.lengths, strict=True)
        groups = [self._next(run, source, last, *place) for place in places]
        samples.fields = {**samples.fields, "group": groups}

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        data, record, row = super()._read(run, source, locator)
        if not (run.reading.group_by or self.stores_group(record)):
            row.group = f"{row.group}-{self._begin(run, source, row.group, row.start, row.length)}"
        return data, record, row

    def _begin(self, run: RunInfo, source: Source, own: str, start: int, length: int) -> int:
        """Return where the lines begin that have the prompt of the line at a place; `own` is its name."""
        inode = file_state(source.location).st_ino
        if (known := _known(source, inode, start, length, own)) is not None:
            return known
        begin = start
        for at, size, prompt in self._prompts_before(run, source, start):
            if prompt != own:
                break
            known = _known(source, inode, at, size, prompt)
            begin = at if known is None else known
            if known is not None:
                break
        if start - begin >= MARK_BYTES:
            _remember(source, inode, start, _MarkedLine(length, own, begin))
        return begin

    def _prompts_before(self, run: RunInfo, source: Source, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield start, length and prompt of the samples before a byte, the last first; the scan reports other lines."""
        for line in _lines_before(source, stop):
            places = [(0, line.length)]
            for begin, end in places:
                data = line.content if end - begin == line.length else (line.data or b"")[begin:end]
                try:
                    prompt = self.group_in(run, source, data, line.start + begin)
                except line_reader.NoObject:
                    places += reversed(line_reader.pieces_in(data, is_ended=line.ended).objects)
                except Exception:  # noqa: S112 - the scan of that line reports it
                    continue
                else:
                    if prompt is not None:
                        yield line.start + begin, end - begin, prompt

    def group_in(self, run: RunInfo, source: Source, data: bytes, start: int) -> str | None:
        """Return the name of the prompt in a line; None without a sample, or for one that names its group.

        May raise any exception.
        """
        record = self.prepared(run, line_reader.parse(data))
        rows = () if self.stores_group(record) else self.rows_of(run, source, record, start, len(data))
        return next((row.group for row in rows if isinstance(row, SampleRow)), None)


def _lines_before(source: Source, stop: int) -> Iterator[line_reader.Line]:
    """Yield the lines before a byte, the last first."""
    width = FIRST_BYTES
    while stop:
        low = max(0, stop - width)
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            before = [*line_reader.lines(file, low, stop)]
        yield from reversed(before)
        stop, width = low, min(width * 4, MOST_BYTES)


def _remember(source: Source, inode: int, start: int, line: _MarkedLine) -> None:
    _marks.put((source.location, inode, start), line)


def _known(source: Source, inode: int, start: int, length: int, prompt: str) -> int | None:
    """Return the first byte of a line's group if the line is remembered and has not changed."""
    mark = _marks.get((source.location, inode, start))
    return mark.begin if mark and mark[:2] == (length, prompt) else None
