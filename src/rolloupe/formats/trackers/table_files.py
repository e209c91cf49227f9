"""Formats whose samples are rows of tables that a tracker keeps as documents of JSON, one for each call.

A sample's place is its number in its table. Where a table begins with the rows of the one before, as trainers log that
repeat all rows each time, only the newest counts.
"""

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from rolloupe.formats.base import changed
from rolloupe.formats.reading.files import FolderEntry, links_of
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers.curves import parsed
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.trackers.completion_tables import samples_of_table
from rolloupe.formats.trackers.logged_samples import LoggedSample, Placed, TrackerSamples
from rolloupe.model import Location, Locator, Problem, RunFile, RunInfo, Scanned, Source
from rolloupe.storage import open_file, path_state

MAX_BYTES = 256 * 2**20
"""Of one table; W&B cuts them at 10,000 rows."""

COMPARED_BYTES = 4096
LAST_BYTES = 64
"""How much of the end of a table may follow its last row."""

REPEATED = "final-"
"""How the key of a table begins that has all rows of another one again."""

EVAL = "eval/eval"
PART = "sample"


class TableFile(NamedTuple):
    """A table on disk."""

    entry: FolderEntry
    key: str
    order: int
    """As the tracker counts."""
    step: int | None
    split: str = ""


class TableFiles(TrackerSamples):
    """A format of such tables."""

    suffixes = (".json",)

    @abstractmethod
    def tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of a run."""

    @abstractmethod
    def table_rows(self, document: Any) -> list[Any]:
        """Return the rows of a table as objects; none for another document."""

    def weights(self, run: RunInfo) -> Any:  # noqa: ARG002
        """Return the weights of reward functions, empty for 1 each; None if they are unknown."""
        return None

    def sample_tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of samples whose rows no other table has."""
        by_key: dict[str, list[TableFile]] = {}
        for one in sorted(self.tables(run), key=lambda one: one.order):
            by_key.setdefault(one.key, []).append(one)
        return [
            one
            for key, tables in by_key.items()
            if not _repeats(key, by_key) and self._holds_samples(tables[0])
            for one in _newest(tables)
        ]

    def _holds_samples(self, table: TableFile) -> bool:
        try:
            return bool(self._logged(table.entry.location, table.key, None, "", None))
        except (ValueError, OSError):
            return False

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        tables = self.sample_tables(run)
        weights = self.weights(run) if tables else None
        return [
            Source(
                path=one.entry.path,
                name=os.path.relpath(one.entry.path, run.root),
                root=links_of(run),
                split=one.split or None,
                step=one.step,
                depends=msgspec.json.encode([one.key, one.step, one.split, weights]).decode(),
            )
            for one in tables
        ]

    def files(self, run: RunInfo) -> list[RunFile]:
        """See `Format`."""
        tables = ((one.entry.path, os.path.relpath(one.entry.path, run.root), "table") for one in self.tables(run))
        return [*super().files(run), *described_files(tables)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`. A table is scanned whole."""
        if start or stop <= start:
            return
        try:
            found = self._placed(source)
        except (ValueError, OSError) as error:
            yield Problem(source=source.name, reason=_reason(error), start=0, transient=True)
            return
        for placed in found:
            yield from self.placed_rows(run, source, placed)

    def placed_at(self, source: Source, locator: Locator) -> Placed:
        """See `TrackerSamples`."""
        try:
            found = self._placed(source)
        except (ValueError, OSError) as error:
            raise changed(source, locator.start, _reason(error)) from None
        if locator.start >= len(found):
            raise changed(source, locator.start, "it has fewer rows")
        return found[locator.start]

    def _placed(self, source: Source) -> list[Placed]:
        key, step, split, weights = msgspec.json.decode(source.depends)
        logged = self._logged(source.location, key, step, split, weights)
        name = os.path.splitext(os.path.basename(source.path))[0].removesuffix(".table")
        return [Placed(n, 0, PART, f"{name}.{n}", one, one.record) for n, one in enumerate(logged)]

    def _logged(
        self, location: Location, key: str, step: int | None, split: str, weights: Any
    ) -> tuple[LoggedSample, ...]:
        """Return the samples of a table. Raises `ValueError` and OSError."""
        rows = self.table_rows(_document(location, *_stamp(location)))
        return tuple(samples_of_table(key, rows, step, split, weights))


def _repeats(key: str, keys: Sequence[str] | dict[str, Any]) -> bool:
    folder, name = os.path.split(key)
    return name.startswith(REPEATED) and os.path.join(folder, name.removeprefix(REPEATED)) in keys


def _newest(tables: list[TableFile]) -> list[TableFile]:
    """Leave out the tables whose rows the next table begins with."""
    repeated = [_begins_with(later, earlier) for earlier, later in pairwise(tables)]
    return [one for one, is_repeated in zip(tables, [*repeated, False], strict=True) if not is_repeated]


def _begins_with(later: TableFile, earlier: TableFile) -> bool:
    """Tell whether a table has the rows of an earlier one at its beginning, as far as a few reads can show."""
    try:
        places = later.entry.location, earlier.entry.location
        return _is_beginning(*places, *_stamp(places[0]), *_stamp(places[1]))
    except OSError:
        return False


@lru_cache(maxsize=100_000)
def _is_beginning(later: Location, earlier: Location, *_stamps: int) -> bool:
    with open_file(later) as new, open_file(earlier) as old:
        size = old.seek(0, os.SEEK_END)
        old.seek(max(0, size - LAST_BYTES))
        stop = size - len(old.read()) + _end_of_rows(old, size)
        if new.seek(0, os.SEEK_END) < size:
            return False
        for start in (0, max(0, stop - COMPARED_BYTES)):
            length = min(COMPARED_BYTES, stop - start)
            old.seek(start)
            new.seek(start)
            if old.read(length) != new.read(length):
                return False
    return True


def _end_of_rows(file: Any, size: int) -> int:
    """Where the last row ends among the last bytes of a file: before the brackets that close the table."""
    file.seek(max(0, size - LAST_BYTES))
    last = file.read()
    return len(last.rstrip(b" \n}]")) if last else 0


def _stamp(location: Location) -> tuple[int, int, int]:
    state = path_state(location.path)
    return state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=8)
def _document(location: Location, *_stamp: int) -> Any:
    with open_binary(location) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
    document = parsed(data)
    if isinstance(document, dict):
        return document
    raise ValueError("it is no table, or not whole yet")


def _reason(error: BaseException) -> str:
    return f"could not be read: {error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
