"""Reads files that many trainers keep beside their samples: metrics as JSON lines, a config, checkpoints, a diff.

They are read on request, up to `MAX_BYTES`, and never indexed. Unreadable lines are skipped; `damage`
lists them. An unfinished last line is still being written, so it is not damage.
"""

import contextlib
import io
import os
import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import JSONL, plain_name, while_unchanged
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.line_reader import BOM, decoded, lines, parse, why_no_text
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.stream import is_decoded, open_binary, read_at
from rolloupe.lru import Lru
from rolloupe.model import Checkpoint, Location, MetricRow, Problem, RunFile, RunInfo, Scanned, Source
from rolloupe.storage import expect, file_state, is_folder, open_state, path_state, stamp_of_state

MAX_BYTES = 256 * 2**20
SMALL_BYTES = 64 * 2**10
"""Bytes of the first read: Python allocates as much memory as a read may return."""
KEPT_VALUES = 1_000_000
"""The most values in memory from files that hold one step each."""


def read_bytes(location: Location | None, limit: int = MAX_BYTES) -> bytes:
    """Return the first bytes of a regular file; empty if it cannot be read."""
    if location is None:
        return b""
    try:
        with open_binary(location) as file:
            data = file.read(min(limit, SMALL_BYTES))
            return data if len(data) < SMALL_BYTES else data + file.read(limit - SMALL_BYTES)
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
    value = decoded(data.removeprefix(BOM), lambda error: f"{error.msg} (line {error.lineno}, column {error.colno})")
    return parsers.showable(value)


def records(location: Location | None) -> Iterator[Record]:
    """Yield the objects of a file of JSON lines, up to `MAX_BYTES` from its start."""
    for line in lines_of(location):
        with contextlib.suppress(Unusable):
            yield parse(line)


_kept: Lru[tuple[object, ...], list[Record]] = Lru(total=KEPT_VALUES)


def kept_records(location: Location | None) -> list[Record]:
    """Return the objects of a small file, as `records` does; it is read again only if it has changed.

    In a run with a file for each step, a new step then costs only its own file.
    """
    if location is None:
        return []
    try:
        key = location, *stamp_of_state(file_state(location))
    except OSError:
        return []
    return _kept.get_or_make(key, lambda: [*records(location)], lambda kept: 1 + sum(map(len, kept)))


def lines_of(location: Location | None) -> Iterator[bytes]:
    """Yield the lines of a file, without blank and overlong ones, up to `MAX_BYTES` from its start."""
    if location is None:
        return
    with contextlib.suppress(OSError), open_binary(location) as file:
        yield from filter(None, (line.content for line in lines(file, 0, MAX_BYTES)))


class MergedMetrics:
    """Rows of metrics, merged by step, the last value of a metric wins; rows without a step stay single.

    Drops values that are not numbers, and rows whose step is too large or no integer, which `damage` lists.
    """

    def __init__(self) -> None:
        self._by_step: dict[int, dict[str, float]] = {}
        self._loose: list[MetricRow] = []
        self._names = parsers.MetricNames()

    def add(self, row: Record) -> None:
        try:
            step = step_of(row.get("step"))
        except Unusable:
            return
        names = self._names
        values = {
            names[key]: number
            for key, value in row.items()
            if (number := value if type(value) is float else parsers.number(value)) is not None
        }
        values.pop("step", None)
        if step is None:
            self._loose.append(MetricRow(step=None, values=values, time_s=parsers.number(row.get("time"))))
        else:
            self._by_step.setdefault(step, {}).update(values)

    def join(self, rows: Iterable[MetricRow]) -> None:
        """Merge rows that another file merged."""
        for row in rows:
            if row.step is None:
                self._loose.append(row)
            else:
                self._by_step.setdefault(row.step, {}).update(row.values)

    def rows(self) -> list[MetricRow]:
        """Return copies of all rows: by step, then those without one."""
        steps = [MetricRow(step=step, values=dict(self._by_step[step])) for step in sorted(self._by_step)]
        return steps + [MetricRow(step=None, values=dict(row.values), time_s=row.time_s) for row in self._loose]


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
            name=parsers.as_text(row.get("name")),
            step=next((n for key in ("batch", "name") if (n := parsers.integer(row.get(key))) is not None), None),
            paths={key: value for key, value in row.items() if key.endswith("_path") and isinstance(value, str)},
            extra={k: parsers.showable(v) for k, v in row.items() if k not in placed_keys and not k.endswith("_path")},
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
    return [
        Source(path=location.path, name=os.path.relpath(location.path, folder), root=location.root)
        for location in some
        if location
    ]


KEPT_LINE_VALUES = 3_000_000
"""The most numbers of such files that stay in memory."""
COMPARED_BYTES = 1024
"""If this many of its first bytes, or of the bytes read last, have changed, a file was replaced."""
NONE = (-1, -1)


class LinesSoFar(NamedTuple):
    """The metrics of a file, merged by step, and the records that its reader kept apart."""

    rows: list[MetricRow]
    apart: list[Record]


class MetricLines:
    """The metrics of a growing file. A subclass may convert lines to other rows, or keep them separately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._merged = MergedMetrics()
        self.apart: dict[int | None, Record] = {}
        self._stop = self.values = 0
        self._inode, self._first, self._last = NONE, b"", b""

    def take(self, record: Record) -> None:
        self._merged.add(record)
        self.values += len(record)

    def read(self, location: Location) -> LinesSoFar:
        """Read the new lines of a file; read a replaced file again from its start, and skip an unreadable one."""
        with self._lock:
            try:
                with open_binary(location) as file:
                    self._read_on(file)
            except OSError:
                self._begin()
            return LinesSoFar(self._merged.rows(), [*self.apart.values()])

    def _read_on(self, file: io.BufferedReader) -> None:
        if (
            _inode(file) != self._inode
            or read_at(file, 0, len(self._first)) != self._first
            or read_at(file, self._stop - len(self._last), len(self._last)) != self._last
        ):
            self._begin()
        is_done = True
        expect(file, [(self._stop, open_state(file).st_size)])
        for line in lines(file, self._stop, MAX_BYTES):
            if content := line.content:
                with contextlib.suppress(Unusable):
                    self.take(parse(content))
                    is_done = line.ended  # the last line may still grow
            if line.ended:
                self._stop = line.stop + 1
        self._inode = _inode(file) if is_done else NONE
        if is_done:
            part = min(self._stop, COMPARED_BYTES)
            self._first, self._last = read_at(file, 0, part), read_at(file, self._stop - part, part)


def _inode(file: io.BufferedReader) -> tuple[int, int]:
    state = open_state(file)
    return state.st_dev, state.st_ino


_kept_lines: Lru[tuple[type[MetricLines], str], MetricLines] = Lru(total=KEPT_LINE_VALUES)
_lines_seen: Lru[tuple[type[MetricLines], str], bool] = Lru(entries=10_000)


def lines_so_far(location: Location, kind: type[MetricLines] = MetricLines) -> LinesSoFar:
    """Return the metrics of a file. The rows of a file that is read for the second time stay in memory."""
    key = kind, location.path
    reader = _kept_lines.get(key) or kind()
    so_far = reader.read(location)
    if _lines_seen.get(key):
        _kept_lines.put(key, reader, reader.values + 1)
    _lines_seen.put(key, True)
    return so_far


def metrics_of(location: Location | None) -> list[MetricRow]:
    """Return the metrics of a file whose lines are rows; empty without a file."""
    return [] if location is None else lines_so_far(location).rows


MAX_LISTED = 100
"""Maximum number of problems to list for one file."""
KEPT_FILES = 1000


class _Lines(JsonlFormat):
    """A format that only checks lines for damage."""

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:  # noqa: ARG002
        step_of(record.get("step"))
        return []


_LINES = _Lines()
_NO_RUN = RunInfo(name="", root="", format="", reason="", parts=())


def damage(source: Source) -> list[Problem]:
    """List the damage in a file of JSON lines, or in a JSON document. A missing file has none."""
    try:
        return list(_damage(source.location, source))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Problem(source=source.name, reason=f"could not be read: {error.strerror}", transient=True)]


def read(source: Source, start: int, length: int) -> bytes:
    """Return bytes of a trainer's file, fewer at its end. Raises `SourceChanged`."""
    return _LINES.read(source, start, length)


@while_unchanged(KEPT_FILES)
def _damage(location: Location, source: Source) -> tuple[Problem, ...]:
    problems: Iterable[Problem] = ()
    if plain_name(source.path).endswith(JSONL):
        problems = _of_lines(source)
    else:
        data = read_bytes(location)
        try:
            document(data)
        except Unusable as error:
            reason = why_no_text(data, len(data)) or str(error)
            problems = [Problem(source=source.name, reason=reason, start=0, stop=len(data))]
    listed = [msgspec.structs.replace(problem, transient=True) for problem in islice(problems, MAX_LISTED + 1)]
    if len(listed) > MAX_LISTED:
        reason = f"more than {MAX_LISTED} problems in this file: the others are not listed"
        listed[MAX_LISTED:] = [Problem(source=source.name, reason=reason, transient=True)]
    return tuple(listed)


def _of_lines(source: Source) -> Iterator[Problem]:
    with open_binary(source.location) as file:
        may_grow = not is_decoded(file)
        file.seek(MAX_BYTES)
        is_cut = bool(file.read(1))
    for item in _LINES.scan(_NO_RUN, source, 0, MAX_BYTES):
        if isinstance(item, Problem) and not (item.transient and may_grow):
            yield item
    if is_cut:
        reason = f"longer than {MAX_BYTES // 2**20} MiB: what is behind them is not read"
        yield Problem(source=source.name, reason=reason, start=MAX_BYTES)


# The records of JSON lines that concern one thing, such as a sample: those with its name under a key.

SEARCH_BLOCK_BYTES = 2**20
MAX_SEARCH_BYTES: Final = 2**30
"""Number of bytes of a file to search."""
MAX_RECORDS: Final = 256
"""The most records about one thing to read from a file; the newest are read."""


def records_about(location: Location, key: str, value: str) -> tuple[list[Record], list[str]]:
    """Return the records of a file whose `key` is `value`, oldest first, and the problems on the way."""
    notes: list[str] = []
    name = os.path.basename(location.path)
    try:
        return newest_about(location, key, value, name, notes), notes
    except OSError as error:
        return [], [f"{name} could not be read: {error.strerror}"]


def newest_about(location: Location, key: str, value: str, producer: str, notes: list[str]) -> list[Record]:
    """Return only the newest of these records: all of them could fill the memory. Raises OSError."""
    newest: deque[Record] = deque(maxlen=MAX_RECORDS)
    plain = max(re.split(r"[^A-Za-z0-9 _.:-]", value), key=len)  # JSON escapes none of it
    with open_binary(location) as file:
        for line in lines_with(file, plain.encode() or b'"'):
            with contextlib.suppress(Unusable):
                if parsers.name((record := parse(line)).get(key)) == value:
                    newest.append(record)
        if file.tell() >= MAX_SEARCH_BYTES:
            name = os.path.basename(location.path)
            notes.append(f"annotations of {producer}: only the first GiB of {name} was searched")
    if len(newest) == MAX_RECORDS:
        notes.append(f"annotations of {producer}: only the last {MAX_RECORDS} count")
    return list(newest)


def lines_with(file: Any, needle: bytes) -> Iterator[bytes]:
    """Yield the lines that contain some bytes, in one pass over a file. Lines beyond 16 MiB are in pieces."""
    read = 0
    while read < MAX_SEARCH_BYTES and (block := file.read(SEARCH_BLOCK_BYTES)):
        block += file.readline(16 * SEARCH_BLOCK_BYTES)
        read += len(block)
        if needle in block:
            yield from (line for line in block.split(b"\n") if needle in line)
