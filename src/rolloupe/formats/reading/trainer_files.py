"""Files that many trainers keep beside their samples: metrics as JSON lines, a config, checkpoints, a diff.

They are read whole on request, up to `MAX_BYTES` from their start. Unreadable lines are skipped here and listed by
`rolloupe.formats.reading.file_damage`.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.jsonl import BLANK, BOM, decoded, lines, parse, strip_bom
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.stream import open_binary
from rolloupe.lru import Lru
from rolloupe.model import Checkpoint, Location, MetricRow, RunFile, Source
from rolloupe.storage import file_state, is_folder, path_state, stamp_of_state

MAX_BYTES = 256 * 2**20
SMALL_BYTES = 64 * 2**10
"""Read at first: Python sets as much memory aside as a read may return at most."""

KEPT_VALUES = 1_000_000
"""How many values of files with the records of a step stay in memory."""


def read_bytes(location: Location | None, limit: int = MAX_BYTES) -> bytes:
    """Return the first bytes of a regular file; nothing if none is readable."""
    if location is None:
        return b""
    try:
        with open_binary(location) as file:
            found = file.read(min(limit, SMALL_BYTES))
            return found if len(found) < SMALL_BYTES else found + file.read(limit - SMALL_BYTES)
    except OSError:
        return b""


def read_text(location: Location | None, limit: int = MAX_BYTES) -> str:
    """Return a file as text."""
    return read_bytes(location, limit).decode("utf-8", errors="replace")


def read_json(location: Location | None) -> Any:
    """Return a JSON document; None for anything else."""
    try:
        return document(read_bytes(location))
    except Unusable:
        return None


def document(data: bytes) -> Any:
    """Decode a JSON document as Python does, NaN included. Raises `Unusable`."""
    found = decoded(data.removeprefix(BOM), lambda error: f"{error.msg} (line {error.lineno}, column {error.colno})")
    return fields.showable(found)


def records(location: Location | None) -> Iterator[Record]:
    """Yield the objects of a file of JSON lines, up to `MAX_BYTES` from its start."""
    for line in lines_of(location):
        with contextlib.suppress(Unusable):
            yield parse(line)


_kept: Lru[tuple[object, ...], list[Record]] = Lru(total=KEPT_VALUES)


def kept_records(location: Location | None) -> list[Record]:
    """Return the objects of a small file, as `records` does, which is read again only if it has changed.

    For runs with a file for each step: when a step comes, only its file is read.
    """
    if location is None:
        return []
    try:
        key = location, *stamp_of_state(file_state(location))
    except OSError:
        return []
    return _kept.get_or_make(key, lambda: [*records(location)], lambda found: 1 + sum(map(len, found)))


def lines_of(location: Location | None) -> Iterator[bytes]:
    """Yield the lines of a file, without blank and overlong ones, up to `MAX_BYTES` from its start."""
    if location is None:
        return
    with contextlib.suppress(OSError), open_binary(location) as file:
        for line in lines(file, 0, MAX_BYTES):
            if line.data is not None and (data := strip_bom(line.data, line.start)).strip(BLANK):
                yield data


class MergedMetrics:
    """Rows of metrics, merged by step, the last value of each metric winning; rows without a step stay single.

    Drops values that are not numbers, as metrics are drawn, and rows whose step is too large or not an integer, which
    `rolloupe.formats.reading.file_damage` lists.
    """

    def __init__(self) -> None:
        self._by_step: dict[int, dict[str, float]] = {}
        self._loose: list[MetricRow] = []
        self._names = fields.MetricNames()

    def add(self, row: Record) -> None:
        """Merge a row."""
        try:
            step = step_of(row.get("step"))
        except Unusable:
            return
        names = self._names
        values = {
            names[key]: number
            for key, value in row.items()
            if (number := value if type(value) is float else fields.number(value)) is not None
        }
        values.pop("step", None)
        if step is None:
            self._loose.append(MetricRow(step=None, values=values, time_s=fields.number(row.get("time"))))
        else:
            self._by_step.setdefault(step, {}).update(values)

    def join(self, rows: Iterable[MetricRow]) -> None:
        """Merge rows that are merged already."""
        for row in rows:
            if row.step is None:
                self._loose.append(row)
            else:
                self._by_step.setdefault(row.step, {}).update(row.values)

    def rows(self) -> list[MetricRow]:
        """Return copies of all rows: by step, then those without one."""
        steps = [MetricRow(step=step, values=dict(self._by_step[step])) for step in sorted(self._by_step)]
        return steps + [MetricRow(step=None, values=dict(one.values), time_s=one.time_s) for one in self._loose]


def merged_metrics(rows: Iterable[Record]) -> list[MetricRow]:
    """Merge rows of one step: see `MergedMetrics`."""
    merged = MergedMetrics()
    for row in rows:
        merged.add(row)
    return merged.rows()


def checkpoints_of(rows: Iterable[Record], placed_keys: tuple[str, ...]) -> list[Checkpoint]:
    """Read checkpoints; `placed_keys` are keys with a place of their own; all others are extra."""
    return [
        Checkpoint(
            name=fields.as_text(row.get("name")),
            step=next((n for key in ("batch", "name") if (n := fields.integer(row.get(key))) is not None), None),
            paths={key: value for key, value in row.items() if key.endswith("_path") and isinstance(value, str)},
            extra={k: fields.showable(v) for k, v in row.items() if k not in placed_keys and not k.endswith("_path")},
        )
        for row in rows
    ]


def described_files(files: Iterable[tuple[str, str, str]]) -> list[RunFile]:
    """Describe files, each given by path, name and description; missing files are left out."""
    listed = []
    for path, name, what in files:
        try:
            state = path_state(path, follow=False)
        except OSError:
            continue
        listed.append(RunFile(name=name, size_bytes=state.st_size, changed_s=state.st_mtime, what=what))
    return listed


def json_sources(root: str, some: Iterable[Location | None]) -> list[Source]:
    """Return files in the form of `Format.trainer_files`, with names relative to the run; None is left out."""
    folder = root if is_folder(root) else os.path.dirname(root)
    return [Source(path=one.path, name=os.path.relpath(one.path, folder), root=one.root) for one in some if one]
