"""The DuckDB behind the queries: one in-memory database for each index folder, locked before the first question.

It may read Parquet files below the index folders that were named to it and nothing else; its configuration cannot be
changed again; a question that takes too long is interrupted. Values are always bound, identifiers always quoted.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import duckdb
import pyarrow as pa

from rolloupe.errors import BadQuery, SourceChanged
from rolloupe.index import OpenRun, Piece, metric_column, tag_column
from rolloupe.index.columns import FIXED
from rolloupe.index.columns import SAID as SAID_COLUMNS

T = TypeVar("T")

MEMORY_LIMIT = "256MB"
TIMEOUT_S = 30.0

ROWS = "tail"
SAID = "said_tail"
"""How the names begin under which tables in memory are asked."""

_lock = threading.Lock()
_databases: dict[Path, duckdb.DuckDBPyConnection] = {}


class Column(NamedTuple):
    """A column of the index, as it is named there, and its SQL type."""

    name: str
    kind: str


def quote(identifier: str) -> str:
    """An SQL identifier."""
    return '"' + identifier.replace('"', '""') + '"'


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _database(folder: Path) -> duckdb.DuckDBPyConnection:
    with _lock:
        if folder not in _databases:
            _databases[folder] = _locked(folder)
        return _databases[folder].cursor()


def _locked(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:")
    connection.execute(f"SET allowed_directories = [{_literal(str(folder.resolve()) + '/')}]")
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    connection.execute("SET threads = 2")
    connection.execute("SET enable_external_file_cache = false")
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


class Question(NamedTuple):
    """One statement over the rows of some pieces, which it names `rows`.

    `named` are the columns that it names and that some pieces, or all, may lack; `tables` are others that it names;
    `said` are annotations of the rows, whose values take the place of older ones.
    """

    pieces: Sequence[Piece]
    sql: str
    values: Sequence[Any] = ()
    named: Sequence[Column] = ()
    tables: Mapping[str, pa.Table] = MappingProxyType({})
    said: Sequence[Piece] = ()


def ask(run: OpenRun, question: Question) -> list[tuple[Any, ...]]:
    """Fetch the answer as tuples.

    Raises `BadQuery` where the statement does not fit the columns, or takes more time or memory than it may, and
    `SourceChanged` where files of the index are gone or damaged; these are then made again.
    """
    return _answer(run, question, lambda connection, sql: connection.execute(sql, question.values).fetchall())


def table(run: OpenRun, question: Question) -> pa.Table:
    """Fetch the answer as an Arrow table: for many rows. Raises as `ask`."""
    values = list(question.values)
    return _answer(run, question, lambda connection, sql: connection.sql(sql, params=values).to_arrow_table())


def _answer(run: OpenRun, question: Question, fetch: Callable[[duckdb.DuckDBPyConnection, str], T]) -> T:
    connection = _database(run.catalog.folder.parent)
    timer = threading.Timer(TIMEOUT_S, connection.interrupt)
    timer.start()
    try:
        for name, other in question.tables.items():
            connection.register(name, other)
        for prefix, pieces in ((ROWS, question.pieces), (SAID, question.said)):
            for number, piece in enumerate(pieces):
                if piece.table is not None:
                    connection.register(f"{prefix}{number}", piece.table)
        return fetch(connection, f"WITH {_rows(question)} {question.sql}")
    except duckdb.InterruptException as error:
        raise BadQuery(f"the query took longer than {TIMEOUT_S:.0f} s: narrow its steps or splits") from error
    except duckdb.OutOfMemoryException as error:
        raise BadQuery(f"the query needs more than {MEMORY_LIMIT} of memory: narrow its steps or splits") from error
    except (duckdb.BinderException, duckdb.ConversionException) as error:
        raise BadQuery(str(error).splitlines()[0]) from error
    except duckdb.Error as error:
        with _lock:
            # some errors leave a database that answers nothing any more
            _databases.pop(run.catalog.folder.parent, None)
        read = [piece.path for piece in (*question.pieces, *question.said) if piece.path]
        if run.heal(read) or isinstance(error, duckdb.IOException):
            raise SourceChanged("the index changed while it was read, and is made again: ask again") from error
        raise BadQuery(str(error).splitlines()[0]) from error
    finally:
        timer.cancel()
        connection.close()


def _rows(question: Question) -> str:
    """The definition of `rows`: what the pieces hold, with what annotations say of it."""
    base = _union(question.pieces, ROWS, question.named)
    if not question.said:
        return f"rows AS ({base})"
    there = {column.name for column in question.named} | set(dict(FIXED))
    there |= {metric_column(name) for piece in question.pieces for name in piece.metrics}
    there |= {tag_column(name) for piece in question.pieces for name in piece.tags}
    said = [*SAID_COLUMNS, *dict.fromkeys(metric_column(name) for piece in question.said for name in piece.metrics)]
    said += dict.fromkeys(tag_column(name) for piece in question.said for name in piece.tags)
    columns = [quote(column) for column in said]
    newest = ", ".join(f"arg_max({column}, row(source, byte_start, nth)) AS {column}" for column in columns)
    newer = {c: f"coalesce(own.{c}, whole.{c}{f', base.{c}' if name in there else ''}) AS {c}"
             for c, name in zip(columns, said, strict=True)}  # fmt: skip
    replaced = ", ".join(newer[quote(name)] for name in said if name in there)
    added = "".join(f", {newer[quote(name)]}" for name in said if name not in there)
    return f"""base AS ({base}), said AS ({_union(question.said, SAID)}),
    newest AS (
        SELECT uid, {newest} FROM said
        WHERE uid IN (SELECT uid FROM base UNION SELECT trace_id FROM base) AND uid <> '' GROUP BY uid
    ),
    rows AS (
        SELECT base.* REPLACE ({replaced}){added} FROM base
        LEFT JOIN newest AS own ON own.uid = base.uid LEFT JOIN newest AS whole ON whole.uid = base.trace_id
    )"""


def _union(pieces: Sequence[Piece], prefix: str, named: Sequence[Column] = ()) -> str:
    files = ", ".join(_literal(str(piece.path.resolve())) for piece in pieces if piece.path)
    parts = [f"SELECT * FROM read_parquet([{files}], union_by_name = true)"] if files else []
    parts += [f"SELECT * FROM {prefix}{number}" for number, piece in enumerate(pieces) if piece.table is not None]
    if named:
        nulls = ", ".join(f"NULL::{column.kind} AS {quote(column.name)}" for column in named)
        parts.append(f"SELECT {nulls} WHERE false")
    return " UNION ALL BY NAME ".join(parts)
