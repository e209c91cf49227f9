"""Rows of SQLite tables that a trainer made: columns that are stored, and texts whatever bytes they hold."""

from collections.abc import Iterator, Sequence
from typing import Any

import apsw


def stored_columns(database: apsw.Connection, table: str) -> set[str]:
    """Return the columns that a table stores; of a view, which may compute without end, none."""
    stored = (
        "SELECT info.name FROM sqlite_schema AS one, pragma_table_info(one.name) AS info "
        "WHERE one.type = 'table' AND one.rootpage > 0 AND one.name = ?"
    )
    return {str(row[0]) for row in database.execute(stored, (table,))}


def table_rows(
    database: apsw.Connection, columns: Sequence[str], rest: str, values: Sequence[object] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the rows of `SELECT columns rest` by column, a text as its bytes say: SQLite fails where one is not UTF-8.

    `columns` are names of this code's own, with or without a table before a dot.
    """
    encoding = str(database.pragma("encoding"))
    names = [name.rpartition(".")[2] for name in columns]
    taken = ", ".join(f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name})" for name in columns)
    for row in database.execute(f"SELECT {taken} {rest}", values):
        yield {
            name: value.decode(encoding, "replace") if isinstance(value, bytes) else value
            for name, value in zip(names, row, strict=True)
        }
