"""The DuckDB behind the queries: one in-memory database for each index folder, locked before the first statement.

It may read Parquet files below its index folder, and below the shared one that this links to, and nothing else. Its
configuration cannot change again; a statement that takes too long is interrupted. Values are always bound, identifiers
always quoted.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from rolloupe.errors import BadQuery, SourceChanged
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun, Piece
from rolloupe.index.index_folders import shared_by
from rolloupe.index.segments.columns import token_text
from rolloupe.index.segments.pack import distrust
from rolloupe.index.segments.parts import table_of
from rolloupe.index.segments.samples import NO_SAMPLES
from rolloupe.index.segments.segment import has_columns, is_readable
from rolloupe.index.token_stats.files import has_words, words_file_of
from rolloupe.lru import Lru
from rolloupe.model import RunInfo
from rolloupe.query.engine import relation
from rolloupe.query.engine.relation import FILE, ROW, AnnotationOverlay, RowPlace, TableReading, literal, quote
from rolloupe.tokenizer.vocabulary import LETTERS

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

MENDED = "the index changed during the query and is being rebuilt: ask again"
MEMORY_LIMIT = "256MB"

# In this order: access goes off once the folders are named, and the lock comes last.
LOCKED_SETTINGS = {
    "enable_external_file_cache": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}

MAX_DATABASES = 4
"""Each has its own threads and memory. Beyond this number, the least recently used database closes."""

SHOWN_LINE_END = "↵"  # how the page shows a line break, which cannot be typed into a field of one line
_settings = {"threads": "2"}
_lock = threading.Lock()
databases: "Lru[Path, duckdb.DuckDBPyConnection]" = Lru(MAX_DATABASES)  # by index folder


def save_memory() -> None:
    """Answer with one thread from now on: each takes memory, 15 MB in a run with many columns."""
    _settings["threads"] = "1"


def prepare() -> None:
    """Import DuckDB now. Otherwise the first question imports it, and commands that ask none never do."""
    import duckdb  # noqa: F401


NO_ROWS = Piece("", None, table_of(NO_SAMPLES, ""), (), (), (), annotates=False, stop=0)
"""Gives `rows` its columns where a question has no pieces."""


class Question(NamedTuple):
    """One statement over the rows of some pieces, which it calls `rows`.

    `named` are its columns that some or all pieces may lack; `tables` are other tables in it; `overlay` are annotations
    of the rows. `base` has the rows without annotations.
    """

    pieces: Sequence[Piece]
    sql: str
    values: Sequence[Any] = ()
    named: Sequence[relation.Column] = ()
    tables: Mapping[str, pa.Table] = MappingProxyType({})
    overlay: AnnotationOverlay = relation.NO_OVERLAY
    at: Sequence[RowPlace] | None = None  # the rows to read: the table `places` has their numbers in `rows`, and `nth`


def ask(run: OpenRun, question: Question) -> list[tuple[Any, ...]]:
    """Fetch the answer as tuples: none without pieces.

    Raises `BadQuery` if the statement does not fit the columns, or exceeds its time or memory, and `SourceChanged` if
    files of the index are missing or damaged; the index then rebuilds them.
    """
    return _fetched(run, question)[0] if question.pieces else []


def _fetched(run: OpenRun, question: Question) -> tuple[list[tuple[Any, ...]], TableReading]:
    return answer(run, question, lambda connection, sql: connection.execute(sql, question.values).fetchall())


def table(run: OpenRun, question: Question) -> pa.Table:
    """Fetch the answer as an Arrow table: for many rows. Raises as `ask`."""
    return placed(run, question)[0]


def placed(run: OpenRun, question: Question) -> tuple[pa.Table, TableReading]:
    """Fetch the answer as an Arrow table, and the mapping of the numbers in `PLACE` to rows. Raises as `ask`."""
    values = list(question.values)
    return answer(run, question, lambda connection, sql: connection.sql(sql, params=values).to_arrow_table())


def places(run: OpenRun, question: Question) -> list[RowPlace]:
    """Fetch an answer of the columns in `PLACE` as rows: none without pieces. Raises as `ask`.

    For few rows: for an Arrow table, DuckDB would plan the statement twice.
    """
    if not question.pieces:
        return []
    rows, reading = _fetched(run, question)
    return [reading.place(file, row) for file, row in rows]


def of_files(
    run: OpenRun, paths: Sequence[Path], sql: str, values: Sequence[Any] = ()
) -> tuple[pa.Table, Sequence[Path]]:
    """Fetch an answer over other files of an index, called `files`, and the list of files read: damaged files are left
    out.
    """
    import duckdb

    folder = run.catalog.folder.resolve()
    names = ", ".join(literal(f"{folder}/{path.parent.name}/{path.name}") for path in paths)
    files = f"SELECT *, file_index::BIGINT AS {quote(FILE)} FROM read_parquet([{names}])"
    try:
        with _connection(run) as connection:
            return connection.sql(f"WITH files AS ({files}) {sql}", params=list(values)).to_arrow_table(), paths
    except duckdb.Error as error:
        databases.pop(run.catalog.folder.parent)
        good = [path for path in paths if is_readable(path)]
        if not good or len(good) == len(paths):
            raise SourceChanged(MENDED) from error
        return of_files(run, good, sql, values)


def answer(
    run: OpenRun, question: Question, fetch: "Callable[[duckdb.DuckDBPyConnection, str], T]"
) -> tuple[T, TableReading]:
    """Fetch an answer, and how the pieces were read. Raises as `ask`."""
    import duckdb

    folder = run.catalog.folder.resolve()
    used = relation.used_in(question.sql) | {column.name for column in question.named}
    base = TableReading(folder, question.pieces or [NO_ROWS], question.named, used=used)
    newer = TableReading(folder, question.overlay.pieces, prefix="newer")
    scores = TableReading(folder, question.overlay.scores, prefix="scored")
    tables = dict(question.tables)
    for column in question.named:
        if (text := token_text(column.name)) is not None:
            tables[column.name] = _rows_with_token(run, base, text)
    if question.at is not None:
        tables["places"] = base.numbers(question.at)
    for reading in (base, newer, scores):
        tables |= reading.tables()
    try:
        with _connection(run) as connection:
            for name, rows in tables.items():
                connection.register(name, rows)
            tables_of = relation.definition(base, newer, scores, question.overlay)
            return fetch(connection, f"WITH {tables_of} {question.sql}"), base
    except duckdb.OutOfMemoryException as error:
        raise BadQuery(f"the query needs more than {MEMORY_LIMIT} of memory: narrow its steps or splits") from error
    except (duckdb.BinderException, duckdb.ConversionException) as error:
        if run.heal(path for path in _alone(base, newer, scores) if not has_columns(path)):
            raise SourceChanged(MENDED) from error
        raise BadQuery(str(error).splitlines()[0]) from error
    except duckdb.Error as error:
        databases.pop(run.catalog.folder.parent)  # some errors leave a database that no longer answers
        if distrust([pack for reading in (base, newer, scores) for pack in reading.plan.packed]):
            return answer(run, question, fetch)  # ask again without them
        if run.heal(_alone(base, newer, scores)) or isinstance(error, duckdb.IOException):
            raise SourceChanged(MENDED) from error
        raise BadQuery(str(error).splitlines()[0]) from error


def _alone(*readings: TableReading) -> list[Path]:
    return [piece.path for reading in readings for piece in reading.plan.alone if piece.path is not None]


def _rows_with_token(run: OpenRun, base: TableReading, text: str) -> pa.Table:
    """The table of `PLACE` for the samples with a trained token that has a string. The index may not know all yet."""
    strings, ids = _words_of(run.info, text)
    firsts = base.firsts()
    by_path = {
        words_file_of(piece.path): firsts[id(piece)]
        for piece in base.pieces
        if piece.path is not None and piece.tokens is not None and piece.tokens.words_bytes and knows_words(piece)
    }
    if not by_path:
        return pa.table({FILE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64())})
    wanted = " OR ".join([*["word = ?"] * len(strings), *["id = ?"] * len(ids)])
    sql = f"SELECT {quote(FILE)}, unnest(rows) FROM files WHERE {wanted}"
    answer, paths = of_files(run, list(by_path), sql, [*strings, *ids])
    files, rows = (column.to_numpy() for column in answer.columns)
    first = np.array([by_path[path] for path in paths], np.int64)
    return pa.table({FILE: first[files, 0], ROW: first[files, 1] + rows})


def _words_of(run: RunInfo, text: str) -> tuple[list[str], list[int]]:
    """The strings and the ids in the index that mean a text, with or without a blank before it.

    A record may hold the text, its byte-level spelling, or that of SentencePiece. `↵` also stands for a line break.
    Without a tokenizer, the digits of an id stand for the id.
    """
    texts = [text] if text.startswith(" ") else [text, f" {text}"]
    texts += [spelling.replace(SHOWN_LINE_END, "\n") for spelling in texts if SHOWN_LINE_END in spelling]
    strings = []
    for spelling in texts:
        by_bytes = "".join(LETTERS[byte] for byte in spelling.encode("utf-8", "surrogatepass"))
        strings += [spelling, by_bytes, spelling.replace(" ", "▁")]
    ids = [int(text)] if text.isascii() and text.isdigit() and len(text) < 10 else []
    if (tokenizer := tokenizer_of(run)) is not None:
        ids = [token for spelling in texts for token in tokenizer.tokens_of(spelling)]
    return list(dict.fromkeys(string.encode("utf-8", "replace").decode() for string in strings)), ids


def knows_words(piece: Piece) -> bool:
    """True if the index knows which rows of a piece have which words."""
    return piece.path is not None and piece.tokens is not None and has_words(piece.path, piece.tokens)


@contextmanager
def _connection(run: OpenRun) -> "Iterator[duckdb.DuckDBPyConnection]":
    """Open a connection for one statement. Raises `BadQuery` if it takes too long, and `KeyboardInterrupt`."""
    import duckdb

    connection = cursor_of(run.catalog.folder.parent)
    try:
        with _time_limit.watch(connection.interrupt):
            yield connection
    except Exception as error:
        if str(error).rstrip(": \n").endswith(("KeyboardInterrupt", "Query interrupted")):
            raise KeyboardInterrupt from error  # DuckDB turns it into an error of its own
        if isinstance(error, duckdb.InterruptException):
            late = f"the query took longer than {_time_limit.seconds:.0f} s: narrow its steps or splits"
            raise BadQuery(late) from error
        raise
    finally:
        connection.close()


def cursor_of(folder: Path) -> "duckdb.DuckDBPyConnection":
    """Return a connection to the database of an index folder."""
    with _lock:
        database = databases.get(folder)
        if database is None:
            database = locked_database(folder)
            for old in databases.put(folder, database):
                old.close()  # its cursors keep what they need
        return database.cursor()


def locked_database(folder: Path) -> "duckdb.DuckDBPyConnection":
    """Make a database that reads a folder, and whose settings nobody can change."""
    import duckdb

    connection = duckdb.connect(":memory:")
    allowed = [str(path) + "/" for path in (folder.resolve(), shared_by(folder)) if path is not None]
    connection.execute(f"SET allowed_directories = [{', '.join(map(literal, allowed))}]")
    for name, value in {"memory_limit": f"'{MEMORY_LIMIT}'", **_settings, **LOCKED_SETTINGS}.items():
        connection.execute(f"SET {name} = {value}")
    return connection


class TimeLimit:
    """Interrupts statements that take longer than `seconds`.

    One thread watches all statements, because starting a thread takes as long as a short query. The thread ends with
    the last statement.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._running: dict[object, tuple[float, Callable[[], None]]] = {}
        """When each statement is interrupted, and how; the earliest comes first."""
        self._lock = threading.Lock()
        self.thread: threading.Thread | None = None

    @contextmanager
    def watch(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` unless the block ends in time; never after its end."""
        statement = object()
        with self._lock:
            self._running[statement] = time.monotonic() + self.seconds, interrupt
            if self.thread is None or not self.thread.is_alive():  # a fork leaves the thread behind
                self.thread = threading.Thread(target=self._keep, name="time limit", daemon=True)
                self.thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._running.pop(statement, None)

    def _keep(self) -> None:
        rest_s = self.seconds
        while True:
            time.sleep(rest_s)
            with self._lock:
                now = time.monotonic()
                for statement, (deadline, interrupt) in list(self._running.items()):
                    if deadline > now:
                        rest_s = deadline - now
                        break
                    del self._running[statement]
                    interrupt()
                else:
                    self.thread = None
                    return


_time_limit = TimeLimit(30.0)
