"""Groups of trainers that store none: lines with the same prompt that follow each other.

Such a group is named after its prompt and the line at which it begins, so that a prompt that a step asks twice has two.
A scan that begins inside a group, and whoever loads one sample, look back to where it begins: of a long group, no
further than to a line whose beginning is remembered.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from rolloupe.formats.reading.jsonl import RAW_BUFFER_BYTES, JsonlFormat
from rolloupe.formats.reading.line_reader import Line, lines, parse, strip_bom
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.stream import open_binary
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, RunInfo, SampleRow, Scanned, Source
from rolloupe.storage import file_state

FIRST_BYTES = 2**17
"""How far a look back goes at first; then four times as far at a time, up to `MOST_BYTES`."""
MOST_BYTES = 2**23
MARK_BYTES = 2**16
"""From one line of a group that is remembered to the next."""


class _Mark(NamedTuple):
    """A remembered line: its length, its prompt, and where its group begins."""

    length: int
    prompt: str
    begin: int


_marks: Lru[tuple[Location, int, int], _Mark] = Lru(entries=2**16)
"""By file, inode and the first byte of the line."""


class _Last:
    """The prompt of the last line of a scan, where its group begins, and its last line that is remembered."""

    prompt = ""
    begin = -1
    marked = 0


class PromptRuns(JsonlFormat):
    """A format whose `row` names a group after its prompt: here it becomes that of the lines that follow each other."""

    def stores_group(self, record: Record) -> bool:  # noqa: ARG002
        """Return whether a record itself names its group, which then stays."""
        return False

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        return self.scanned(run, source, start, stop, partial(self._follow, run, source, _Last()))

    def _follow(self, run: RunInfo, source: Source, last: _Last, record: Record, row: SampleRow) -> None:
        if run.reading.group_by or self.stores_group(record):
            return
        if row.group != last.prompt or last.begin < 0:
            last.begin = self._begin(run, source, row) if last.begin < 0 else row.start
            last.prompt, last.marked = row.group, row.start
        elif row.start - last.marked >= MARK_BYTES:
            last.marked = row.start
            _remember(source, file_state(source.location).st_ino, row, last.begin)
        row.group = f"{row.group}-{last.begin}"

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        data, record, row = super()._read(run, source, locator)
        if not (run.reading.group_by or self.stores_group(record)):
            row.group = f"{row.group}-{self._begin(run, source, row)}"
        return data, record, row

    def _begin(self, run: RunInfo, source: Source, row: SampleRow) -> int:
        """Return where the lines with the prompt of this row begin."""
        inode = file_state(source.location).st_ino
        begin = _known(source, inode, row.start, row.length, row.group)
        if begin is None:
            begin = self._looked_back(run, source, inode, row)
            if row.start - begin >= MARK_BYTES:
                _remember(source, inode, row, begin)
        return begin

    def _looked_back(self, run: RunInfo, source: Source, inode: int, row: SampleRow) -> int:
        begin = row.start
        for line in _lines_before(source, row.start):
            prompt = self._prompt(run, source, line)
            if prompt == row.group:
                known = _known(source, inode, line.start, line.length, prompt)
                if known is not None:
                    return known
                begin = line.start
            elif prompt is not None:
                break
        return begin

    def _prompt(self, run: RunInfo, source: Source, line: Line) -> str | None:
        try:
            return self.group_in(run, source, strip_bom(line.data or b"", line.start), line.start)
        except Exception:  # of a line that is no sample, or of a defect: its own scan says so
            return None

    def group_in(self, run: RunInfo, source: Source, data: bytes, start: int) -> str | None:
        """Return the group of the sample in a line; None without a sample. May raise any exception."""
        found = self.rows_of(run, source, self.prepared(run, parse(data)), start, len(data))
        return next((row.group for row in found if isinstance(row, SampleRow)), None)


def _lines_before(source: Source, stop: int) -> Iterator[Line]:
    """Yield the lines before a byte, the last first."""
    width = FIRST_BYTES
    while stop:
        low = max(0, stop - width)
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            found = [*lines(file, low, stop)]
        yield from reversed(found)
        stop, width = low, min(width * 4, MOST_BYTES)


def _remember(source: Source, inode: int, row: SampleRow, begin: int) -> None:
    _marks.put((source.location, inode, row.start), _Mark(row.length, row.group, begin))


def _known(source: Source, inode: int, start: int, length: int, prompt: str) -> int | None:
    """Where the group of a line begins, if the line is remembered and has not changed."""
    mark = _marks.get((source.location, inode, start))
    return mark.begin if mark and mark[:2] == (length, prompt) else None
