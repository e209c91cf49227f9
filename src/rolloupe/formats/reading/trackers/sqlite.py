"""Reads SQLite databases in place, even while a trainer writes them; and the runs of trackio and MLflow in them.

Nothing is written or locked next to a database. Python's `sqlite3` either leaves files there (read-only, it makes
`-wal` and `-shm`) or misses rows (`immutable=1` reads no `-wal`). SQLite reads through a file system of its own (apsw):
pages of the database come from its file, those of the `-wal` from a copy of it, which is small, and there are no
other files. While a `-journal` shows an unfinished transaction, the database holds pages that may be rolled back,
so it is not read.
"""

import contextlib
import math
import os
import struct
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, TypeVar

import apsw
from msgspec.structs import replace

from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import while_unchanged
from rolloupe.formats.reading.trackers.curves import LoggedRow, LoggedRun, flat, parsed, seconds_of
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.storage import file_state, open_file, path_state, stamp_of_state

MAGIC = b"SQLite format 3\0"
MAX_WAL_BYTES = 2**30
"""The largest `-wal` that is read; writers move its rows into the database from 4 MB on."""
TRIES = 3
"""How often to try to read a database that changes meanwhile."""
WAIT_S = 0.02
"""How long to wait for the end of a transaction; most take less."""
READING_S = 120
"""The most processor time that a reading takes."""
MAX_VALUE_BYTES = 64 * 2**20
"""The largest text or row."""
MAX_PAGE_BYTES = 2**16
ENDINGS = (".db", ".sqlite", ".sqlite3")
SIDE_FILES = ("-wal", "-journal")
"""The endings of the files that SQLite keeps next to a database."""
JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER = struct.Struct(">L4xL4x8s8x")
"""The header of a `-wal`: its magic, the size of its pages and its salt, which each frame repeats."""
_FRAME_BYTES = 24
"""The header of a frame."""
STEPS_BETWEEN_LOOKS = 10_000
_MAIN, _LOG = "database", "database-wal"
_IS_LOGGED = 18
"""The offset of the byte that is 2 if a database has a `-wal`."""
_UNFINISHED = (
    "its -journal holds an unfinished transaction. Next: try again later; if its writer was killed, opening it with "
    "sqlite3 rolls the transaction back"
)
_RESTLESS = "it keeps changing. Next: try again later"
T = TypeVar("T")
_reasons: Lru[str, tuple[str, tuple[int, ...]]] = Lru(entries=1000)
"""By database, the reason why it could not be read, and its state at that time."""


class BadDatabase(Exception):
    """Raised for a database that cannot be read; its text is the reason."""


UNREADABLE = (BadDatabase, OSError)
"""The exceptions that reading a database may raise."""


def is_database(location: Location) -> bool:
    """Return whether a file begins as a database of SQLite does."""
    try:
        with open_file(location) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def side_file(location: Location, ending: str) -> Location:
    """Return the location of a side file of a database; for a link, it lies next to the target, as in SQLite.

    If the database is its own root, so is that file.
    """
    path = f"{os.path.realpath(location.path) if os.path.islink(location.path) else location.path}{ending}"
    return Location(path, path if location.root == location.path else location.root)


def states_of(location: Location) -> tuple[int, ...]:
    """Return the states of a database and its side files: every new row changes one of them."""
    states = [*stamp_of_state(path_state(location.path))]
    for ending in SIDE_FILES:
        with contextlib.suppress(OSError):
            beside = path_state(side_file(location, ending).path)
            states += [beside.st_size, beside.st_mtime_ns]
    return tuple(states)


def read_database(location: Location, read: Callable[[apsw.Connection], T], seconds: float = READING_S) -> T:
    """Return the result of `read` for a database at one moment. Raises `BadDatabase`, also for errors of `read`."""
    try:
        return _at_one_moment(location, read, seconds)
    except apsw.InterruptError:
        reason = f"it takes more than {seconds:g} seconds"
    except (apsw.Error, OSError, ValueError) as error:
        reason = str(error)
    with contextlib.suppress(OSError):
        _reasons.put(location.path, (reason, _stamp(location)))
    raise BadDatabase(f"{os.path.basename(location.path)} cannot be read: {reason}")


def why_unread(location: Location) -> str | None:
    """Return why the last reading of a database failed, if it has not changed since; else None."""
    reason, stamp = _reasons.get(location.path) or ("", ())
    with contextlib.suppress(OSError):
        if is_database(location) and stamp == _stamp(location):
            return f"cannot be read: {reason}"
    return None


def _at_one_moment(location: Location, read: Callable[[apsw.Connection], T], seconds: float) -> T:
    reason = ""
    for _ in range(TRIES):
        before = _stamp(location)
        with contextlib.suppress(FileNotFoundError), open_file(side_file(location, "-journal")) as journal:
            if journal.read(len(JOURNAL_MAGIC)) == JOURNAL_MAGIC:
                reason = _UNFINISHED
                time.sleep(WAIT_S)
                continue
        result = _read(location, read, seconds)
        if _stamp(location) == before:
            return result
        reason = _RESTLESS
    raise ValueError(reason)


def _stamp(location: Location) -> tuple[int, int, int]:
    """Return a state that changes when rows reach the database file, from its `-wal` or directly."""
    return stamp_of_state(file_state(location))


def _read(location: Location, read: Callable[[apsw.Connection], T], seconds: float) -> T:
    with open_file(location) as main:
        files = {_MAIN: main}
        if main.read(_IS_LOGGED + 1)[_IS_LOGGED:] == b"\2":
            files[_LOG] = copied_log(side_file(location, "-wal"))
        system = _FileSystem(files)
        try:
            with closing(apsw.Connection(_MAIN, flags=apsw.SQLITE_OPEN_READONLY, vfs=system.name)) as database:
                database.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                database.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
                database.execute("PRAGMA locking_mode = EXCLUSIVE")  # so that it shares no index of the `-wal`
                database.execute("PRAGMA temp_store = MEMORY")  # as there are no other files
                database.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
                stop = time.thread_time() + seconds
                database.set_progress_handler(lambda: time.thread_time() > stop, STEPS_BETWEEN_LOOKS)
                return read(database)
        finally:
            system.close()


def copied_log(location: Location) -> BinaryIO:
    """Copy the part of a `-wal` that SQLite reads; the copy is empty without one. It may lack rows written meanwhile.

    The part is the header, and the frames before the first one left from an earlier use, which has a different salt.
    """
    copy = TemporaryFile(prefix="rolloupe-")  # noqa: SIM115 - closed with the file system
    with contextlib.suppress(FileNotFoundError), open_file(location) as source:
        if file_state(location).st_size > MAX_WAL_BYTES:
            raise ValueError(f"{os.path.basename(location.path)} has more than {MAX_WAL_BYTES >> 30} GiB")
        header = source.read(_WAL_HEADER.size)
        if len(header) < _WAL_HEADER.size:
            return copy
        magic, page_bytes, salt = _WAL_HEADER.unpack(header)
        if magic not in _WAL_MAGIC or page_bytes > MAX_PAGE_BYTES:
            return copy
        copy.write(header)
        while (frame := source.read(_FRAME_BYTES + page_bytes)) and frame[8 : 8 + len(salt)] == salt:
            copy.write(frame)
    return copy


class _FileSystem(apsw.VFS):
    """A file system for one connection: its files are already open, and are neither locked nor written."""

    def __init__(self, files: dict[str, BinaryIO]) -> None:
        self.name = f"rolloupe-{id(self)}"
        self._files = files
        super().__init__(self.name, base="")

    def xFullPathname(self, name: str) -> str:  # noqa: N802 - a name of apsw, like those below
        return name

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: ARG002, N802
        return pathname in self._files

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "_File":  # type: ignore[pyrefly:bad-override]  # noqa: N802
        flags[1] = flags[0]
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path not in self._files:
            raise apsw.CantOpenError(f"no file {path}")
        return _File(self._files[path])

    def close(self) -> None:
        self.unregister()
        for file in self._files.values():
            file.close()


class _File:
    """A file of the file system, as apsw calls it. It is never written, so it needs no locks and no synchronisation."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.xSync = self.xLock = self.xUnlock = self.xClose = lambda *_: None
        self.xFileControl = self.xCheckReservedLock = lambda *_: False
        self.xSectorSize = self.xDeviceCharacteristics = lambda *_: 0
        self.xWrite = self.xTruncate = self._refuse

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._file.seek(offset)
        return self._file.read(amount)

    def xFileSize(self) -> int:  # noqa: N802
        return self._file.seek(0, os.SEEK_END)

    def _refuse(self, *_: object) -> None:
        raise apsw.ReadOnlyError("nothing is written")


MAX_ROW_BYTES = 32 * 2**20
"""The largest size of the texts of a row: parsed and indexed, they take about twelve times as much memory."""
OF_TRAINERS = ("traces", "metrics", "configs", "spans", "trace_tags", "trace_info", "rollouts", "trajectories", "runs")
"""The tables of trackio, MLflow and tviz."""
VIEWS = (
    "a database in which a view takes the place of a table: {}. A view may compute without end, so only tables are "
    "read. Next: copy the view into a table of its name"
)
TOO_LARGE = "too large"
"""The key of the reason why a row, which lacks some values, is not read."""
TOO_LARGE_ROW = f"a row of {{:,}} MiB, which takes too much memory: up to {MAX_ROW_BYTES >> 20} MiB are read"


def size_of(columns: Iterable[str]) -> str:
    """Return SQL for the size of some columns of a row in bytes, which does not read the columns."""
    return " + ".join(f"ifnull(octet_length({name}), 0)" for name in columns)


def bounded(column: str) -> str:
    """Return SQL for a column as bytes; a value beyond the limit of a row is NULL and is not read."""
    return f"iif(octet_length({column}) <= {MAX_ROW_BYTES}, CAST({column} AS BLOB), NULL)"


def stored_columns(database: apsw.Connection, table: str) -> set[str]:
    """Return the columns of a table; empty for a view, which may compute without end."""
    stored = (
        "SELECT info.name FROM sqlite_schema AS stored, pragma_table_info(stored.name) AS info "
        "WHERE stored.type = 'table' AND stored.rootpage > 0 AND stored.name = ?"
    )
    return {str(row[0]) for row in database.execute(stored, (table,))}


def why_no_rows(location: Location) -> str:
    """Return why a database has no rows if views take the place of its tables; else an empty text."""
    with contextlib.suppress(BadDatabase, OSError):
        return read_database(location, about_views) if is_database(location) else ""
    return ""


def about_views(database: apsw.Connection) -> str:
    """Say which tables of trainers are views in a database; empty if none is."""
    views = database.execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    names = ", ".join(f"`{name}`" for (name,) in views if name in OF_TRAINERS)
    return VIEWS.format(names) if names else ""


def table_rows(
    database: apsw.Connection, columns: Sequence[str], rest: str, values: Sequence[object] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `SELECT columns rest` by column; U+FFFD replaces bytes of texts that are not UTF-8.

    `columns` are names in this code, with or without a table before a dot. See `TOO_LARGE`.
    """
    encoding = str(database.pragma("encoding"))
    names = [name.rpartition(".")[2] for name in columns]
    taken = ", ".join(f"iif(typeof({name}) IN ('text', 'blob'), {bounded(name)}, {name})" for name in columns)
    for size_bytes, *row in database.execute(f"SELECT {size_of(columns)}, {taken} {rest}", values):
        texts = [value.decode(encoding, "replace") if isinstance(value, bytes) else value for value in row]
        values_by_name = dict(zip(names, texts, strict=True))
        if size_bytes > MAX_ROW_BYTES:
            values_by_name[TOO_LARGE] = TOO_LARGE_ROW.format(size_bytes >> 20)
        yield values_by_name


# Runs of trackio and MLflow, with their metrics and configurations.
#
# Sources: trackio 0.43.0, whose projects are a database each, `{project}.db`, and MLflow 3.17
# (`mlflow/store/tracking/dbmodels/models.py`). For values that JSON lacks, trackio has texts such as `"NaN"`, MLflow a
# column. A metric of trackio may be an object, such as a table, and not a number. Older databases of trackio have no
# `run_id`: a run is known by its name.

MOST_ROWS = 5_000_000
MOST_RUNS = 10_000
LISTING_S = 10
"""The most processor time that listing the runs takes."""
NEEDED_OF_TRACKIO = {"run_name", "step", "timestamp", "metrics"}
NEEDED_OF_MLFLOW = {
    "runs": {"run_uuid", "name", "lifecycle_stage", "experiment_id"},
    "metrics": {"run_uuid", "key", "value", "step", "timestamp", "is_nan"},
    "params": {"run_uuid", "key", "value"},
}


class ProjectRun(NamedTuple):
    """A run of a project that has metrics."""

    id: str
    name: str


def id_column(columns: Collection[str]) -> str:
    """Return the column of trackio that identifies runs."""
    return "run_id" if "run_id" in columns else "run_name"


def _named(value: object) -> str:
    return parsers.name(str(value)) or ""


def _runs_of_project(database: apsw.Connection) -> list[ProjectRun]:
    columns = stored_columns(database, "metrics")
    if not columns >= NEEDED_OF_TRACKIO:
        return []
    key = id_column(columns)
    table = "configs" if key in stored_columns(database, "configs") else "metrics"
    logged = f"SELECT 1 FROM metrics AS row WHERE row.{key} = run.{key} AND octet_length(row.metrics) > 2"  # noqa: S608 - names of ours
    runs = f"FROM {table} AS run WHERE EXISTS ({logged}) GROUP BY {key}, run_name ORDER BY min(rowid) LIMIT {MOST_RUNS}"
    return [
        ProjectRun(_named(row[key]), _named(row["run_name"])) for row in table_rows(database, (key, "run_name"), runs)
    ]


def runs_of_trackio(database: apsw.Connection) -> dict[str, LoggedRun]:
    """Read the metrics of every run of a project, by its id, in the order of its rows."""
    columns = stored_columns(database, "metrics")
    if not columns >= NEEDED_OF_TRACKIO:
        raise ValueError("it is not a database of trackio")
    key, damage = id_column(columns), about_views(database)
    runs: dict[str, LoggedRun] = {}
    wanted = f"FROM metrics ORDER BY rowid LIMIT {MOST_ROWS + 1}"
    for number, row in enumerate(table_rows(database, (key, *NEEDED_OF_TRACKIO), wanted)):
        if number == MOST_ROWS:
            damage = f"only the first {MOST_ROWS:,} rows of its database are read"
            break
        values: dict[str, float] = {}
        for metric, value in parsers.as_dict(parsed(str(row["metrics"]))).items():
            if not (isinstance(value, dict) and "_type" in value):  # a table, a histogram, a picture
                values.update(flat(value, metric))
        own_id = _named(row[key])
        if own_id not in runs:
            runs[own_id] = LoggedRun(_named(row["run_name"]), [], {}, own_id)
        if values:
            step = row["step"] if isinstance(row["step"], int) else None
            runs[own_id].rows.append(LoggedRow(step, values, seconds_of(str(row["timestamp"]))))
    for own_id, config in _configs(database).items():
        if own_id in runs:
            runs[own_id].config.update(config)
    return {own_id: replace(run, damage=damage) for own_id, run in runs.items()}


def _configs(database: apsw.Connection) -> dict[str, dict[str, Any]]:
    columns = stored_columns(database, "configs")
    key = id_column(columns)
    configs: dict[str, dict[str, Any]] = {}
    if {key, "config"} <= columns:
        for row in table_rows(database, (key, "config"), f"FROM configs LIMIT {MOST_RUNS}"):
            if isinstance(settings := parsed(str(row["config"])), dict):
                config = {name: value for name, value in settings.items() if not name.startswith("_")}
                configs.setdefault(_named(row[key]), {}).update(config)
    return configs


def runs_with_metrics(database: apsw.Connection) -> list[dict[str, Any]] | None:
    """Return the rows of MLflow's runs with metrics; None for any other database."""
    if any(not needed <= stored_columns(database, table) for table, needed in NEEDED_OF_MLFLOW.items()):
        return None
    has_metrics = "EXISTS (SELECT 1 FROM metrics WHERE metrics.run_uuid = runs.run_uuid)"
    wanted = f"FROM runs WHERE lifecycle_stage = 'active' AND {has_metrics} ORDER BY start_time LIMIT {MOST_RUNS}"
    return [*table_rows(database, ("run_uuid", "name", "experiment_id"), wanted)]


def _logged_runs(database: apsw.Connection) -> list[ProjectRun] | None:
    rows = runs_with_metrics(database)
    if rows is None:
        return None
    return [ProjectRun(str(row["run_uuid"]), parsers.name(row["name"]) or str(row["run_uuid"])) for row in rows]


def runs_of_mlflow(database: apsw.Connection) -> list[LoggedRun]:
    """Read the metrics and parameters of every run with metrics."""
    runs = {run.id: LoggedRun(run.name, [], {}, run.id) for run in _logged_runs(database) or ()}
    damage = about_views(database)
    columns = ("run_uuid", "key", "value", "step", "timestamp", "is_nan")
    for number, row in enumerate(table_rows(database, columns, f"FROM metrics ORDER BY rowid LIMIT {MOST_ROWS + 1}")):
        if number == MOST_ROWS:
            damage = f"only the first {MOST_ROWS:,} rows of its database are read"
        elif run := runs.get(str(row["run_uuid"])):
            new, last = logged_row(row), run.rows[-1] if run.rows else None
            is_of_call = last is not None and (last.step, last.time_s) == (new.step, new.time_s)
            if last is not None and is_of_call and not last.values.keys() & new.values.keys():
                last.values.update(new.values)
            else:
                run.rows.append(new)
    for row in table_rows(database, ("run_uuid", "key", "value"), "FROM params"):
        if run := runs.get(str(row["run_uuid"])):
            run.config[str(row["key"])] = row["value"]
    return [replace(run, damage=damage) for run in runs.values()]


def logged_row(row: dict[str, Any]) -> LoggedRow:
    """Return a row of MLflow's table `metrics`, which has one number."""
    value = math.nan if row["is_nan"] else parsers.number(row["value"])
    time_ms = parsers.number(row["timestamp"])
    values = {} if value is None else {str(row["key"]): value}
    return LoggedRow(parsers.integer(row["step"]), values, None if time_ms is None else time_ms / 1000)


def project_runs(location: Location) -> list[ProjectRun]:
    """List the runs with metrics in a database of trackio or MLflow; empty for any other file."""
    return _kind_and_runs(location)[1]


def database_kind(location: Location) -> str:
    """Return the tracker that a database belongs to; a database of trackio may have no runs yet."""
    return _kind_and_runs(location)[0]


@while_unchanged(512, states_of, errors=UNREADABLE, otherwise=("trackio", []))
def _kind_and_runs(location: Location) -> tuple[str, list[ProjectRun]]:
    if (logged := read_database(location, _logged_runs, LISTING_S)) is not None:
        return "MLflow", logged
    return "trackio", read_database(location, _runs_of_project, LISTING_S)


@while_unchanged(512, states_of, errors=UNREADABLE, otherwise={})
def database_configs(location: Location) -> dict[str, dict[str, Any]]:
    """Return the configurations of the runs of a database of trackio, by their ids; empty for any other file."""
    return read_database(location, _configs, LISTING_S)
