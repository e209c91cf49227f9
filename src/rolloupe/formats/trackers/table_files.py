"""Formats whose samples are rows of tables that a tracker keeps as documents of JSON, one for each call.

A sample's place is its number in its table. Where a table begins with the rows of the one before, as trainers log that
repeat all rows each time, only the newest counts; of equal ones, as TRL logs its last, the first.
"""

import contextlib
import os
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from rolloupe.formats.base import changed
from rolloupe.formats.curve_files import begins_as, current_curves, curve_files, kind_of
from rolloupe.formats.reading.files import FolderEntry, cause_of, entries, source_at
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers.curves import LoggedRun, parsed
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.trackers.logged_samples import Placed, TrackerSamples
from rolloupe.formats.trackers.tables_and_traces import samples_of_table
from rolloupe.formats.trainers.trl import RewardFunctions
from rolloupe.lru import Lru
from rolloupe.model import Location, Locator, Problem, RunFile, RunInfo, Scanned, Source
from rolloupe.storage import is_folder, open_file, path_state, stamp_of_state

MAX_BYTES = 256 * 2**20
"""The largest table that is read; W&B cuts tables at 10,000 rows."""

KEPT_BYTES = 64 * 2**20
"""The memory for tables kept as documents, and again for tables kept as samples."""

COMPARED_BYTES = 4096
LAST_BYTES = 64
"""How much of the end of a table may follow its last row."""

FIRST_ROWS = 8
"""The first rows, which decide whether a table holds samples."""

REPEATED = "final-"
"""How the key of a table begins that has all rows of another one again."""

EVAL = "eval/eval"
PART = "sample"


Stamp = tuple[int, int, int]
"""The state of a file; the second number is its size."""


class TableFile(NamedTuple):
    """A table on disk."""

    entry: FolderEntry
    key: str
    order: int
    """As the tracker counts."""
    step: int | None
    split: str = ""
    is_named: bool = True
    """False if nothing says what its key is: then its key may have tables of anything."""


class TableFiles(TrackerSamples):
    """A format of such tables, whose title is also the kind of the logs beside them (see `curve_files.KINDS`)."""

    suffixes = (".json",)
    media: ClassVar[tuple[str, ...]]
    """The folders in that of a run that lead to its tables."""
    folder: ClassVar[re.Pattern[str]]
    """The name of the folder of a run, with its `id`."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        if not is_folder(str(path.joinpath(*self.media))):
            return []
        links = link_root or str(path.resolve())
        run = self._run_at(path, f"a run of {self.title} with tables of samples", links, self._name(path, links))
        tables = self.sample_tables(run)
        keys = ", ".join(dict.fromkeys(table.key for table in tables if table.is_named))
        return [replace(run, reason=f"{run.reason} ({keys})" if keys else run.reason)] if tables else []

    def _name(self, folder: Path, links: str) -> str:
        """The name in the log, else what tells the folder from others."""
        logs = [
            entry for entry in entries(str(folder), links) if kind_of(entry.name) == self.title and not entry.is_folder
        ]
        match = self.folder.fullmatch(folder.name)
        names = (begins_as(self.title, log.location).name for log in logs)
        return next(filter(None, names), match["id"] if match else folder.name)

    def run_around(self, path: Path) -> Path | None:
        return next(
            (folder for folder in path.parents if self.folder.fullmatch(folder.name) and self.detect(folder)), None
        )

    def logged(self, run: RunInfo) -> LoggedRun:
        """Return what the log of a run holds; nothing of one that cannot be read."""
        for file in curve_files(run):
            if file.kind == self.title and os.path.dirname(file.path) == run.root:
                with contextlib.suppress(ValueError):
                    return next(iter(current_curves(file)), LoggedRun("", []))
        return LoggedRun("", [])

    @abstractmethod
    def tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of a run."""

    @abstractmethod
    def table_rows(self, document: Any) -> list[Any]:
        """Return the rows of a table as objects; none for another document."""

    def reward_functions(self, run: RunInfo) -> RewardFunctions:  # noqa: ARG002
        """Return what the run says about TRL's reward functions."""
        return RewardFunctions()

    def sample_tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of samples whose rows no other table has."""
        by_key: dict[str, list[TableFile]] = {}
        for table in sorted(self.tables(run), key=lambda table: table.order):
            by_key.setdefault(table.key, []).append(table)
        return [
            table
            for key, tables in by_key.items()
            if not _repeats(key, by_key)
            for table in _newest(self._of_samples(tables))
        ]

    def _of_samples(self, tables: list[TableFile]) -> list[TableFile]:
        """The tables of a key if the first that is whole and has rows has samples; without a name each for itself."""
        if not tables[0].is_named:
            return [table for table in tables if self._has_samples(table)]
        known = (self._has_samples(table) for table in tables)
        return tables if next((has_samples for has_samples in known if has_samples is not None), False) else []

    def _has_samples(self, table: TableFile) -> bool | None:
        """Tell whether a table has samples; None if it has no rows, or is not whole."""
        try:
            return _has_samples(self, table.key, table.entry.location, *_stamp(table.entry.location))
        except (ValueError, OSError):
            return None

    def sources(self, run: RunInfo) -> list[Source]:
        tables = self.sample_tables(run)
        functions = self.reward_functions(run) if tables else None
        return [
            source_at(
                run,
                table.entry.location,
                split=table.split or None,
                step=table.step,
                depends=msgspec.json.encode([table.key, table.step, table.split, functions]).decode(),
            )
            for table in tables
        ]

    def files(self, run: RunInfo) -> list[RunFile]:
        tables = (
            (table.entry.path, os.path.relpath(table.entry.path, run.root), "table") for table in self.tables(run)
        )
        return [*super().files(run), *described_files(tables)]

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """A table is scanned whole."""
        if start or stop <= start:
            return
        try:
            found = self._placed(source)
        except (ValueError, OSError) as error:
            yield Problem(source=source.name, reason=cause_of(error), start=0, transient=True)
            return
        for placed in found:
            yield from self.placed_rows(run, source, placed)

    def placed_at(self, source: Source, locator: Locator) -> Placed:
        try:
            found = self._placed(source)
        except (ValueError, OSError) as error:
            raise changed(source, locator.start, cause_of(error)) from None
        if locator.start >= len(found):
            raise changed(source, locator.start, "it has fewer rows")
        return found[locator.start]

    def _placed(self, source: Source) -> list[Placed]:
        """Return the samples of a table, made once while they are in use. Raises `ValueError` and OSError."""
        stamp = _stamp(source.location)
        key = (self.name, source.location, source.depends, *stamp)
        found = _samples.get(key)
        if found is None:
            found = self._made(source, stamp)
            _samples.put(key, found, stamp[1])
        return found

    def _made(self, source: Source, stamp: Stamp) -> list[Placed]:
        rows = self.table_rows(_document(source.location, *stamp))
        name = os.path.splitext(os.path.basename(source.path))[0].removesuffix(".table")
        key, step, split, functions = msgspec.json.decode(source.depends)
        logged = samples_of_table(key, rows, step, split, RewardFunctions(*functions))
        return [Placed(n, 0, PART, f"{name}.{n}", sample, sample.record) for n, sample in enumerate(logged)]


_samples: Lru[tuple[object, ...], list[Placed]] = Lru(total=KEPT_BYTES, least=1)
_documents: Lru[tuple[object, ...], Any] = Lru(total=KEPT_BYTES)


@lru_cache(maxsize=100_000)
def _has_samples(reader: TableFiles, key: str, location: Location, *stamp: int) -> bool | None:
    rows = reader.table_rows(_document(location, *stamp))
    return bool(samples_of_table(key, rows[:FIRST_ROWS], None)) if rows else None


def _repeats(key: str, keys: Sequence[str] | dict[str, Any]) -> bool:
    folder, name = os.path.split(key)
    return name.startswith(REPEATED) and os.path.join(folder, name.removeprefix(REPEATED)) in keys


def _newest(tables: list[TableFile]) -> list[TableFile]:
    """Leave out the tables whose rows the next table begins with, and of equal ones those that follow the first."""
    found: list[TableFile] = []
    for table in tables:
        more = _bytes_beyond(table, found[-1]) if found else None
        if more == 0:
            continue
        if more:
            found.pop()
        found.append(table)
    return found


def _bytes_beyond(later: TableFile, earlier: TableFile) -> int | None:
    """Return how many bytes longer a table is than an earlier one whose rows it repeats; None if it repeats no rows.

    A few reads show it.
    """
    try:
        places = later.entry.location, earlier.entry.location
        return _beyond(*places, *_stamp(places[0]), *_stamp(places[1]))
    except OSError:
        return None


@lru_cache(maxsize=100_000)
def _beyond(later: Location, earlier: Location, *_stamps: int) -> int | None:
    with open_file(later) as new, open_file(earlier) as old:
        size = old.seek(0, os.SEEK_END)
        old.seek(max(0, size - LAST_BYTES))
        stop = size - len(old.read()) + _end_of_rows(old, size)
        more = new.seek(0, os.SEEK_END) - size
        if more < 0:
            return None
        for start in (0, max(0, stop - COMPARED_BYTES)):
            length = min(COMPARED_BYTES, stop - start)
            old.seek(start)
            new.seek(start)
            if old.read(length) != new.read(length):
                return None
    return more


def _end_of_rows(file: Any, size: int) -> int:
    """Return where the last row ends within the last bytes of a file: before the brackets that close the table."""
    file.seek(max(0, size - LAST_BYTES))
    last = file.read()
    return len(last.rstrip(b" \n}]")) if last else 0


def _stamp(location: Location) -> Stamp:
    return stamp_of_state(path_state(location.path))


def _document(location: Location, *stamp: int) -> Any:
    return _documents.get_or_make((location, *stamp), lambda: _read(location), lambda _: stamp[1])


def _read(location: Location) -> Any:
    with open_binary(location) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
    document = parsed(data)
    if isinstance(document, dict):
        return document
    raise ValueError("it is no table, or not whole yet")
