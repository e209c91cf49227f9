"""How the rows that a question is asked of come together: segments, packs and tails, and what annotations say of them.

Makes SQL and asks nothing. The table is called `rows`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.index import Piece, metric_column, tag_column
from rolloupe.index.columns import FIXED, SAID
from rolloupe.index.pack import PIECE, ways_of


class Column(NamedTuple):
    """A column of the index, as it is named there, and its SQL type."""

    name: str
    kind: str


def quote(identifier: str) -> str:
    """An SQL identifier."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


class Said(NamedTuple):
    """Annotations of the rows, and the columns in question: what they say of these takes the place of older values."""

    pieces: Sequence[Piece] = ()
    columns: Sequence[str] = ()
    places: bool = False
    """True where only the rows at `places`, a table that the question brings along, need it."""


class Reading(NamedTuple):
    """The pieces of one table, `named` columns that some or all may lack, and how tables in memory are called."""

    folder: Path
    """The index of the run, resolved."""
    pieces: Sequence[Piece]
    named: Sequence[Column] = ()
    prefix: str = "tail"

    def tables(self) -> dict[str, pa.Table]:
        """The tables in memory that `sql` names."""
        held = enumerate(piece.table for piece in self.pieces)
        return {f"{self.prefix}{number}": table for number, table in held if table is not None}

    def sql(self) -> str:
        """The rows of all pieces."""
        ways = ways_of(self.pieces)
        parts = []
        if ways.alone:
            parts.append(f"SELECT * FROM {self._files(ways.alone)}")
        packed = f"SELECT * EXCLUDE ({quote(PIECE)}) FROM"
        if ways.whole:
            parts.append(f"{packed} {self._files([pack.path for pack in ways.whole])}")
        if ways.partly:
            own = f"{quote(PIECE)} IN ({', '.join(map(literal, ways.names))})"
            parts.append(f"{packed} {self._files([pack.path for pack in ways.partly])} WHERE {own}")
        parts += [f"SELECT * FROM {name}" for name in self.tables()]
        if self.named:
            nulls = ", ".join(f"NULL::{column.kind} AS {quote(column.name)}" for column in self.named)
            parts.append(f"SELECT {nulls} WHERE false")
        return " UNION ALL BY NAME ".join(parts)

    def more(self) -> list[str]:
        """The columns of sample metrics and tags."""
        metrics = (metric_column(name) for piece in self.pieces for name in piece.metrics)
        tags = (tag_column(name) for piece in self.pieces for name in piece.tags)
        return list(dict.fromkeys([*metrics, *tags]))

    def _files(self, paths: Iterable[Path]) -> str:
        """Files of an index; all lie two levels below its folder, and to resolve thousands of names takes long."""
        names = ", ".join(literal(f"{self.folder}/{path.parent.name}/{path.name}") for path in paths)
        return f"read_parquet([{names}], union_by_name = true)"


PLACE = ("source", "byte_start", "part")
"""What tells one row of the index from any other."""


def definition(base: Reading, said: Reading, asked: Said) -> str:
    """The definition of `rows`, and of `base`, the rows without annotations."""
    there = {*dict(FIXED), *base.more(), *(column.name for column in base.named)}
    columns = [column for column in (*SAID, *said.more()) if column in set(asked.columns)] if said.pieces else []
    if not columns:
        return f"base AS ({base.sql()}), rows AS (SELECT * FROM base)"
    newest = ", ".join(f"arg_max({quote(one)}, row(source, byte_start, nth)) AS {quote(one)}" for one in columns)
    replaced = ", ".join(_newer(one, known=True) for one in columns if one in there)
    added = "".join(f", {_newer(one, known=False)}" for one in columns if one not in there)
    wanted = f"SELECT * FROM base SEMI JOIN places USING ({', '.join(PLACE)})" if asked.places else "SELECT * FROM base"
    return f"""base AS ({base.sql()}), said AS ({said.sql()}), wanted AS ({wanted}),
    newest AS (
        SELECT uid, {newest} FROM said
        WHERE uid IN (SELECT uid FROM wanted UNION SELECT trace_id FROM wanted) AND uid <> '' GROUP BY uid
    ),
    rows AS (
        SELECT wanted.* REPLACE ({replaced}){added} FROM wanted
        LEFT JOIN newest AS own ON own.uid = wanted.uid LEFT JOIN newest AS whole ON whole.uid = wanted.trace_id
    )"""


def _newer(column: str, *, known: bool) -> str:
    name = quote(column)
    return f"coalesce(own.{name}, whole.{name}{f', wanted.{name}' if known else ''}) AS {name}"
