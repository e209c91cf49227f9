"""Rows of SQLite tables that a trainer made: columns that are stored, and texts whatever bytes they hold."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from rolloupe.formats.reading.trackers.sqlite import BadDatabase, is_database, read_database
from rolloupe.model import Location

MAX_ROW_BYTES = 32 * 2**20
"""Of the texts of a row: parsed and indexed, they take about twelve times as much memory."""

OF_TRAINERS = ("traces", "metrics", "configs", "spans", "trace_tags", "trace_info", "rollouts", "trajectories", "runs")
"""The tables of trackio, MLflow and tviz."""

VIEWS = (
    "a database in which a view takes the place of a table: {}. A view may compute without end, so only tables are "
    "read. Next: copy the view into a table of its name"
)

TOO_LARGE = "too large"
"""The key for why a row is not read, which then lacks some values."""


def size_of(columns: Iterable[str]) -> str:
    """The bytes of some columns of a row, in SQL, which reads none of them."""
    return " + ".join(f"ifnull(octet_length({name}), 0)" for name in columns)


def bounded(column: str) -> str:
    """The bytes of a column, in SQL: NULL for more than a row may have, which SQLite then does not read."""
    return f"iif(octet_length({column}) <= {MAX_ROW_BYTES}, CAST({column} AS BLOB), NULL)"


def why_too_large(size_bytes: int) -> str | None:
    """Say why a row of this size is not read; None of one that is."""
    if size_bytes <= MAX_ROW_BYTES:
        return None
    return f"a row of {size_bytes >> 20:,} MiB, which takes too much memory: up to {MAX_ROW_BYTES >> 20} MiB are read"


def stored_columns(database: apsw.Connection, table: str) -> set[str]:
    """Return the columns that a table stores; of a view, which may compute without end, none."""
    stored = (
        "SELECT info.name FROM sqlite_schema AS one, pragma_table_info(one.name) AS info "
        "WHERE one.type = 'table' AND one.rootpage > 0 AND one.name = ?"
    )
    return {str(row[0]) for row in database.execute(stored, (table,))}


def why_no_rows(location: Location) -> str:
    """Say that tables of trainers are views in a database, which are not read; empty for any other file."""
    with contextlib.suppress(BadDatabase, OSError):
        return read_database(location, about_views) if is_database(location) else ""
    return ""


def about_views(database: apsw.Connection) -> str:
    """Say that tables of trainers are views in a database, empty if none is."""
    views = database.execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    found = [f"`{name}`" for (name,) in views if name in OF_TRAINERS]
    return VIEWS.format(", ".join(found)) if found else ""


def table_rows(
    database: apsw.Connection, columns: Sequence[str], rest: str, values: Sequence[object] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `SELECT columns rest` by column, a text as its bytes say: SQLite fails where one is not UTF-8.

    `columns` are names of this code's own, with or without a table before a dot. See `TOO_LARGE`.
    """
    encoding = str(database.pragma("encoding"))
    names = [name.rpartition(".")[2] for name in columns]
    taken = ", ".join(f"iif(typeof({name}) IN ('text', 'blob'), {bounded(name)}, {name})" for name in columns)
    for size_bytes, *row in database.execute(f"SELECT {size_of(columns)}, {taken} {rest}", values):
        found = {
            name: value.decode(encoding, "replace") if isinstance(value, bytes) else value
            for name, value in zip(names, row, strict=True)
        }
        reason = why_too_large(size_bytes)
        yield found | {TOO_LARGE: reason} if reason else found
