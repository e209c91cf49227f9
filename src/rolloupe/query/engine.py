"""The DuckDB behind the queries: one in-memory database a process, locked before the first question.

It may read Parquet files below the index folders that were named to it and nothing else; its configuration cannot be
changed again; a question that takes too long is interrupted. Values are always bound, identifiers always quoted.
"""

import threading
from pathlib import Path
from typing import Any

import duckdb

from rolloupe.errors import BadQuery, SourceChanged
from rolloupe.index.catalog import Scope

MEMORY_LIMIT = "256MB"
TIMEOUT_S = 30.0

_lock = threading.Lock()
_databases: dict[Path, duckdb.DuckDBPyConnection] = {}


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
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def ask(folder: Path, scope: Scope, sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
    """Run one statement over the rows of a scope, which it names `rows`, and fetch the answer.

    `folder` is the index folder of the run. Raises `BadQuery` where the statement does not fit the columns or takes
    longer than it may.
    """
    connection = _database(folder)
    timer = threading.Timer(TIMEOUT_S, connection.interrupt)
    timer.start()
    try:
        for number, table in enumerate(scope.tables):
            connection.register(f"tail{number}", table)
        return connection.execute(f"WITH rows AS ({_rows(scope)}) {sql}", values).fetchall()
    except duckdb.InterruptException as error:
        raise BadQuery(f"the query took longer than {TIMEOUT_S:.0f} s: narrow its steps or splits") from error
    except duckdb.IOException as error:
        raise SourceChanged("the index changed while it was read, as a source was written again: ask again") from error
    except (duckdb.BinderException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        raise BadQuery(str(error).splitlines()[0]) from error
    finally:
        timer.cancel()
        connection.close()


def _rows(scope: Scope) -> str:
    parts = []
    if scope.paths:
        files = ", ".join(_literal(str(path.resolve())) for path in scope.paths)
        parts.append(f"SELECT * FROM read_parquet([{files}], union_by_name = true)")
    parts += [f"SELECT * FROM tail{number}" for number in range(len(scope.tables))]
    if scope.absent:
        nulls = ", ".join(f"NULL::{kind} AS {quote(column)}" for column, kind in scope.absent)
        parts.append(f"SELECT {nulls} WHERE false")
    return " UNION ALL BY NAME ".join(parts)


def empty(scope: Scope) -> bool:
    """True where there is nothing to ask."""
    return not scope.paths and not scope.tables
