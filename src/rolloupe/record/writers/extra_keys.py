"""Fits a sample into a layout: reads its record back, and adds missing values under further keys.

It derives a layout's gaps from that comparison, never from a list that might be wrong.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rolloupe.model import Locator, Sample, SampleRow, Source
from rolloupe.record.writers.losses import is_kept, lost, named

if TYPE_CHECKING:
    from rolloupe.formats.reading.jsonl import JsonlFormat

MAX_WORDS = 400
"""How many different names are counted separately; hostile records could have any number of keys."""

MAX_WORD_CHARS = 80
THE_REST = "further fields"
JOINED = "group (joined with another)"


class Tally:
    """Counts the samples that lost a value, by the name of the value. `samples` counts those left out whole."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._groups: dict[str, str] = {}

    def compare(
        self, sample: Sample, copy: Sample | None, names: Mapping[str, str] | None = None, start: int = 0
    ) -> None:
        """Count the differences between a sample and its copy read back; takes the arguments of `lost`."""
        words = list(lost(sample, copy, names, start))
        if copy is not None and self._groups.setdefault(copy.row.group, sample.row.group) != sample.row.group:
            words.append(JOINED)
        self.add(words)

    def add(self, words: Iterable[str]) -> None:
        """Count the losses of one sample."""
        for word in dict.fromkeys(words):
            short = word[:MAX_WORD_CHARS]
            self.found[short if short in self.found or len(self.found) < MAX_WORDS else THE_REST] += 1

    def add_whole(self, word: str) -> None:
        """Count a sample that was left out whole."""
        self.found[word] += 1


def read_back(
    reader: "JsonlFormat", record: Mapping[str, Any], file: str, split: str | None, step: int, *, nan: bool = False
) -> Sample | None:
    """Return the sample that a format reads from a record; None if it reads none."""
    from rolloupe.formats.reading.line_reader import parse
    from rolloupe.formats.reading.records import Unusable
    from rolloupe.record.files.encoding import encoded

    source = Source(path=f"/{file}", name=file, split=split, step=step)
    try:
        read = parse(encoded(record, nan=nan).removesuffix(b"\n"))
        row = reader.row(source, read, 0, 1)
        return reader.sample(read, row, Locator(source=file, start=0, length=1))
    except Unusable:
        return None


def own_status(row: SampleRow) -> str:
    """Return the framework's own word for the status if every format reads it as this status; else an empty text."""
    from rolloupe.formats.reading import fields

    return row.status_raw if fields.status(row.status_raw)[0] == row.status else ""


def extended(record: dict[str, Any], sample: Sample, copy: Sample | None, reserved: Collection[str]) -> dict[str, Any]:
    """Return a record with the sample's missing values under further keys, none of them in `reserved`."""
    if copy is None:
        return record
    row = sample.row
    free: dict[str, Any] = {name: mine for name, mine, its in named(row, copy.row) if mine not in (None, "", its)}
    free |= {**sample.extra, **row.tags, **row.metrics}
    return record | {
        name: value
        for name, value in free.items()
        if name not in record and name not in reserved and not is_kept(name, value, copy)
    }
