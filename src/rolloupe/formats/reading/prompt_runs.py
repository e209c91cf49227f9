"""Groups of trainers that store none: lines with the same prompt that follow each other.

Such a group is named after its prompt and the line at which it begins, so that a prompt that a step asks twice has two.
A scan that begins inside a group, and whoever loads one sample, look back to where it begins.
"""

from collections.abc import Iterator
from functools import partial

from rolloupe.formats.reading.jsonl import RAW_BUFFER_BYTES, JsonlFormat, lines, parse, strip_bom
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Locator, RunInfo, SampleRow, Scanned, Source

FIRST_BYTES = 2**17
"""How far a look back goes at first; then four times as far."""


class _Last:
    """The prompt of the last line of a scan, and where its group begins."""

    prompt = ""
    begin = -1


class PromptRuns(JsonlFormat):
    """A format whose `row` names a group after its prompt: here it becomes that of the lines that follow each other."""

    def stores_group(self, record: Record) -> bool:  # noqa: ARG002
        """Return whether a record itself names its group, which then stays."""
        return False

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        return self.scanned(run, source, start, stop, partial(self._follow, run, source, _Last()))

    def _follow(self, run: RunInfo, source: Source, last: _Last, record: Record, row: SampleRow) -> None:
        if run.reading.group_by or self.stores_group(record):
            return
        if row.group != last.prompt or last.begin < 0:
            last.begin = self._begin(run, source, row) if last.begin < 0 else row.start
            last.prompt = row.group
        row.group = f"{row.group}-{last.begin}"

    def _read(self, run: RunInfo, source: Source, locator: Locator) -> tuple[bytes, Record, SampleRow]:
        data, record, row = super()._read(run, source, locator)
        if not (run.reading.group_by or self.stores_group(record)):
            row.group = f"{row.group}-{self._begin(run, source, row)}"
        return data, record, row

    def _begin(self, run: RunInfo, source: Source, row: SampleRow) -> int:
        """Return where the lines with the prompt of this row begin."""
        begin, stop, width = row.start, row.start, FIRST_BYTES
        while stop:
            low = max(0, row.start - width)
            for start, prompt in reversed([*self._prompts(run, source, low, stop)]):
                if prompt != row.group:
                    return begin
                begin = start
            stop, width = min(low, begin), width * 4
        return begin

    def _prompts(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[tuple[int, str]]:
        """Yield where lines begin and the prompts that they have; lines that hold no sample are passed over."""
        with open_binary(source.location, RAW_BUFFER_BYTES) as file:
            for line in lines(file, start, stop):
                try:
                    group = self.group_in(run, source, strip_bom(line.data or b"", line.start), line.start)
                except Exception:  # noqa: S112 - of a line that is no sample, or of a defect: its own scan says so
                    continue
                if group is not None:
                    yield line.start, group

    def group_in(self, run: RunInfo, source: Source, data: bytes, start: int) -> str | None:
        """Return the group that `row` makes of a line, None for no sample. Raises whatever it may raise."""
        found = self.rows_of(run, source, self.prepared(run, parse(data)), start, len(data))
        return next((one.group for one in found if isinstance(one, SampleRow)), None)
