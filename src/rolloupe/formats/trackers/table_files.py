"""Tables of samples that the clients of Weights & Biases and SwanLab keep on disk: a JSON document for each call.

A sample's place is its number in its table. Some trainers log all rows again each time: of tables that begin with
the rows of the previous one, only the newest counts. Of equal tables, such as TRL's last ones, the first counts.

Sources: wandb 0.31.0, whose tables are `files/media/table/{key}_{step}_{hash}.table.json`, with folders for slashes of
the key; `run-{id}.wandb` says what was logged beside one, once a block of 32 KiB is full. SwanLab 0.7.20
(`media/{n}/echarts-step{step}-{hash}.json`) and 0.10.3 (`media/echarts/{step}-{hash}.json`): the log of the run names
the key of each; 0.10 writes it when the run ends.
"""

import contextlib
import os
import re
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from rolloupe.formats.curve_files import begins_as, current_curves, curve_files, kind_of
from rolloupe.formats.reading.files import FolderEntry, entries, file_of, links_of, source_at, stamp_of, while_unchanged
from rolloupe.formats.reading.stream import open_binary
from rolloupe.formats.reading.trackers.curves import LoggedRun, LoggedTable, parsed
from rolloupe.formats.reading.trainer_files import described_files, read_text
from rolloupe.formats.trackers.samples import Placed, TrackerSamples, samples_of_table
from rolloupe.formats.trainers.trl import RewardFunctions, reward_functions
from rolloupe.lru import Lru
from rolloupe.model import Location, RunFile, RunInfo, Source
from rolloupe.storage import is_folder, open_file

MAX_BYTES = 256 * 2**20
"""The largest table that is read; W&B cuts tables at 10,000 rows."""
KEPT_BYTES = 64 * 2**20
"""The total size of the tables whose samples stay in memory."""
COMPARED_BYTES = 4096
LAST_BYTES = 64
"""The most bytes of a table after its last row."""
FIRST_ROWS = 8
"""The number of first rows that decide whether a table holds samples."""
REPEATED = "final-"
"""The prefix of the key of a table that repeats all rows of another."""
EVAL = "eval/eval"
PART = "sample"
Stamp = tuple[int, int, int]
"""The state of a file; the second number is its size."""


class TableFile(NamedTuple):
    """A table on disk."""

    entry: FolderEntry
    key: str
    order: int
    """The step by the tracker's own count."""
    step: int | None
    split: str = ""
    is_named: bool = True
    """False if its key is unknown: tables without a known key may hold anything."""


class TableFiles(TrackerSamples):
    """A format of such tables, whose title is also the kind of the logs beside them (see `curve_files.KINDS`)."""

    suffixes = (".json",)
    unreadable = (OSError, ValueError)
    media: ClassVar[tuple[str, ...]]
    """The folders in the folder of a run that lead to its tables."""
    folder: ClassVar[re.Pattern[str]]
    """The name of the folder of a run, with its `id`."""

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:  # noqa: ARG002
        if not is_folder(str(path.joinpath(*self.media))):
            return []
        links = link_root or str(path.resolve())
        files = [entry for entry in entries(str(path), links) if not entry.is_folder]
        logs = [entry.location for entry in files if kind_of(entry.name) == self.title]
        match = self.folder.fullmatch(path.name)
        names = (begins_as(log, self.title).name for log in logs)
        name = next(filter(None, names), match["id"] if match else path.name)
        run = self._run_at(path, f"a run of {self.title} with tables of samples", links, name)
        tables = self.sample_tables(run)
        keys = ", ".join(dict.fromkeys(table.key for table in tables if table.is_named))
        return [replace(run, reason=f"{run.reason} ({keys})" if keys else run.reason)] if tables else []

    def run_around(self, path: Path) -> Path | None:
        folders = (folder for folder in path.parents if self.folder.fullmatch(folder.name))
        return next((folder for folder in folders if self.detect(folder)), None)

    def logged(self, run: RunInfo) -> LoggedRun:
        """Return the contents of the log of a run; empty if it cannot be read."""
        for file in curve_files(run):
            if file.kind == self.title and os.path.dirname(file.path) == run.root:
                with contextlib.suppress(ValueError):
                    return next(iter(current_curves(file)), LoggedRun("", []))
        return LoggedRun("", [])

    @abstractmethod
    def tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of a run."""

    @abstractmethod
    def table_rows(self, document: dict[str, Any]) -> list[Any]:
        """Return the rows of a table as objects; empty if the document is not a table."""

    def reward_functions(self, run: RunInfo) -> RewardFunctions:  # noqa: ARG002
        return RewardFunctions()

    def sample_tables(self, run: RunInfo) -> list[TableFile]:
        """List the tables of samples whose rows no other table repeats."""
        by_key: dict[str, list[TableFile]] = {}
        for table in sorted(self.tables(run), key=lambda table: table.order):
            by_key.setdefault(table.key, []).append(table)
        sampled: list[TableFile] = []
        for key, tables in by_key.items():
            folder, name = os.path.split(key)
            if name.startswith(REPEATED) and os.path.join(folder, name.removeprefix(REPEATED)) in by_key:
                continue
            known = ((table, _has_samples(table.entry.location, self, key)) for table in tables)
            if not tables[0].is_named:
                sampled += _newest([table for table, has_samples in known if has_samples])
            elif next((has_samples for _, has_samples in known if has_samples is not None), False):
                sampled += _newest(tables)  # the first whole table with rows decides
        return sampled

    def sources(self, run: RunInfo) -> list[Source]:
        tables = self.sample_tables(run)
        functions = self.reward_functions(run) if tables else None
        sources = []
        for table in tables:
            depends = msgspec.json.encode([table.key, table.step, table.split, functions]).decode()
            place, split = table.entry.location, table.split or None
            sources.append(source_at(run, place, split=split, step=table.step, depends=depends))
        return sources

    def files(self, run: RunInfo) -> list[RunFile]:
        paths = [table.entry.path for table in self.tables(run)]
        tables = ((path, os.path.relpath(path, run.root), "table") for path in paths)
        return [*super().files(run), *described_files(tables)]

    def placed_in(self, source: Source, start: int, stop: int) -> list[Placed]:
        return [placed for placed in self._placed(source) if start <= placed.start < stop]

    def _placed(self, source: Source) -> list[Placed]:
        """Return the samples of a table, made once while they are in use. Raises `ValueError` and OSError."""
        stamp = stamp_of(source.location)
        cache_key = (self.name, source.location, source.depends, *stamp)
        placed = _samples.get(cache_key)
        if placed is None:
            rows = self.table_rows(_document(source.location))
            name = os.path.splitext(os.path.basename(source.path))[0].removesuffix(".table")
            key, step, split, functions = msgspec.json.decode(source.depends)
            logged = samples_of_table(key, rows, step, split, RewardFunctions(*functions))
            placed = [Placed(n, 0, PART, f"{name}.{n}", sample, sample.record) for n, sample in enumerate(logged)]
            _samples.put(cache_key, placed, stamp[1])
        return placed


_samples: Lru[tuple[object, ...], list[Placed]] = Lru(total=KEPT_BYTES, least=1)


@while_unchanged(100_000, errors=(ValueError, OSError))
def _has_samples(location: Location, reader: TableFiles, key: str) -> bool | None:
    """Tell whether a table has samples; None if it has no rows, or is not whole."""
    rows = reader.table_rows(_document(location))
    return bool(samples_of_table(key, rows[:FIRST_ROWS], None)) if rows else None


def _newest(tables: list[TableFile]) -> list[TableFile]:
    """Leave out each table whose rows begin the next one; of equal tables, keep the first."""
    newest: list[TableFile] = []
    for table in tables:
        more = None
        if newest:
            earlier = newest[-1].entry.location
            with contextlib.suppress(OSError):
                more = _bytes_beyond(table.entry.location, earlier, stamp_of(earlier))
        if more == 0:
            continue
        if more:
            newest.pop()
        newest.append(table)
    return newest


@while_unchanged(100_000)
def _bytes_beyond(later: Location, earlier: Location, _stamp: Stamp) -> int | None:
    """Return how many bytes a table adds to an earlier one whose rows it repeats; None if it repeats no rows."""
    with open_file(later) as new, open_file(earlier) as old:
        size = old.seek(0, os.SEEK_END)
        more = new.seek(0, os.SEEK_END) - size
        if more < 0:
            return None
        begin = old.seek(max(0, size - LAST_BYTES))
        stop = begin + len(old.read().rstrip(b" \n}]"))  # before the brackets that close the table
        for start in (0, max(0, stop - COMPARED_BYTES)):
            length = min(COMPARED_BYTES, stop - start)
            old.seek(start)
            new.seek(start)
            if old.read(length) != new.read(length):
                return None
    return more


def _document(location: Location) -> dict[str, Any]:
    with open_binary(location) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
    if isinstance(document := parsed(data), dict):
        return document
    raise ValueError("it is not a table, or not complete yet")


MAX_DEPTH = 8
"""The deepest folder: each slash in a key makes one."""
MOST_FILES = 100_000
_WANDB_TABLE = re.compile(r"(?P<key>.+)_(?P<step>[0-9]{1,15})_(?P<hash>[0-9a-f]{8,64})\.table\.json")


class WeightsAndBiases(TableFiles):
    """Tables of Weights & Biases."""

    name = "wandb"
    title = "Weights & Biases"
    media = ("files", "media", "table")
    folder = re.compile(r"(?:offline-)?run-[0-9]{8}_[0-9]{6}-(?P<id>.+)")

    def tables(self, run: RunInfo) -> list[TableFile]:
        folder = os.path.join(run.root, *self.media)
        logged = self.logged(run).tables
        files: list[FolderEntry] = []
        waiting = [(folder, 0)]
        while waiting and len(files) < MOST_FILES:
            place, depth = waiting.pop()
            with contextlib.suppress(OSError):
                listed = [entry for entry in entries(place, links_of(run)) if not entry.refused]
                files += [entry for entry in listed if not entry.is_folder]
                waiting += [(entry.path, depth + 1) for entry in listed if entry.is_folder and depth < MAX_DEPTH]
        tables = []
        for entry in files:
            name = os.path.relpath(entry.path, folder)
            if match := _WANDB_TABLE.fullmatch(name):
                known = logged.get("/".join((*self.media[1:], name)))
                order = int(match["step"])
                step = order if known is None or known.step is None else known.step
                split = EVAL if known and known.follows_eval else ""
                tables.append(TableFile(entry, match["key"], order, step, split))
        return tables

    def table_rows(self, document: dict[str, Any]) -> list[Any]:
        columns, data = document.get("columns"), document.get("data")
        if not (isinstance(columns, list) and isinstance(data, list)):
            return []
        return [dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list)]

    def reward_functions(self, run: RunInfo) -> RewardFunctions:
        logged = self.logged(run)
        return reward_functions(logged.config, (row.values for row in logged.rows))


MEDIA, TABLES = "media", "echarts"
MAX_CONFIG_BYTES = 2**20
_SWANLAB_TABLE = re.compile(r"(?:echarts-step)?(?P<step>[0-9]{1,15})-[0-9a-f]{6,64}\.json")


class SwanLab(TableFiles):
    """Tables of SwanLab."""

    name = "swanlab"
    title = "SwanLab"
    media = (MEDIA,)
    folder = re.compile(r"run-[0-9]{8}_[0-9]{6}-(?P<id>.+)")

    def tables(self, run: RunInfo) -> list[TableFile]:
        logged, links = self.logged(run).tables, links_of(run)
        try:
            folders = [entry for entry in entries(os.path.join(run.root, MEDIA), links) if entry.is_folder]
            own = [folder for folder in folders if folder.name == TABLES] or folders  # other folders link to it
            files = [file for folder in own for file in entries(folder.path, links)]
        except OSError:
            return []
        tables = []
        for entry in files:
            if not (entry.is_folder or entry.refused) and (match := _SWANLAB_TABLE.fullmatch(entry.name)):
                step = int(match["step"])
                folder_name = os.path.basename(os.path.dirname(entry.path))
                known = logged.get(entry.name, LoggedTable(folder_name, step))
                is_named = entry.name in logged or folder_name != TABLES
                tables.append(TableFile(entry, known.key, step, known.step, is_named=is_named))
        return tables

    def table_rows(self, document: dict[str, Any]) -> list[Any]:
        rows = document.get("rowData") if document.get("_swanLab") == "table" else None
        return rows if isinstance(rows, list) else []

    def config(self, run: RunInfo) -> dict[str, Any]:
        from rolloupe.formats.reading.yaml_values import yaml_settings

        folder = os.path.join(run.root, "files")
        settings = yaml_settings(read_text(file_of(folder, "config.yaml", links_of(run)), MAX_CONFIG_BYTES))
        stated = {key: setting for key, setting in settings.items() if isinstance(setting, dict)}
        return {key: setting["value"] for key, setting in stated.items() if "value" in setting}
