"""How the rows that a question is asked of come together: segments, packs and tails, and what annotations say of them.

Makes SQL and asks nothing. The table is called `rows`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.index import Piece, metric_column, tag_column
from rolloupe.index.segments.columns import FIXED, NUMBER_COLUMN, SAID
from rolloupe.index.segments.pack import PIECE, ways_of


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


def mean_of(value: str) -> str:
    """The mean of the finite values of an expression, in SQL.

    DuckDB adds before it divides, and the sum of numbers near the largest is infinite; so they are made smaller first,
    by a power of two, which changes no digit of numbers above 2e-299.
    """
    return f"(avg({value} * {2.0**-30!r}) FILTER (isfinite({value})) * {2**30})"


class Said(NamedTuple):
    """Annotations of the rows, and the columns in question: what they say of these takes the place of older values."""

    pieces: Sequence[Piece] = ()
    columns: Sequence[str] = ()
    places: bool = False
    """True where only the rows at the places that the question names need it."""


COUNTED = f"""row_number() OVER (PARTITION BY split, step ORDER BY source, ordinal, byte_start, part) - 1
    AS {quote(NUMBER_COLUMN)}"""
"""The place of each row in its step, in the order of the files. Pieces hold whole steps."""

FILE, ROW = "~file", "~row"
"""What tells one row of `rows` from any other: the number of the file in the question, and of the row in the file."""

PLACE = (quote(FILE), quote(ROW))


class RowPlace(NamedTuple):
    """A row of the index, whatever file it is read from."""

    piece: Piece
    row: int


class TableReading:
    """The pieces of one table, `named` columns that some or all may lack, and how tables in memory are called."""

    def __init__(
        self, folder: Path, pieces: Sequence[Piece], named: Sequence[Column] = (), prefix: str = "tail"
    ) -> None:
        self.pieces, self.named = pieces, named
        self._folder = folder  # the index of the run, resolved
        self._prefix = prefix
        self.ways = ways_of(pieces)
        self._packs = [*self.ways.whole, *self.ways.partly]
        self._tails = [piece for piece in pieces if piece.table is not None]

    def tables(self) -> dict[str, pa.Table]:
        """The tables in memory that `sql` names."""
        first = len(self.ways.alone) + len(self._packs)
        held = enumerate(piece.table for piece in self._tails if piece.table is not None)
        return {f"{self._prefix}{number}": _numbered(table, first + number) for number, table in held}

    def sql(self) -> str:
        """The rows of all pieces."""
        ways, whole_at = self.ways, len(self.ways.alone)
        parts = []
        if ways.alone:
            paths = [piece.path for piece in ways.alone if piece.path is not None]
            alike = len({(tuple(piece.metrics), tuple(piece.tags)) for piece in ways.alone}) == 1
            parts.append(f"SELECT *, {_place(0)} FROM {self._files(paths, alike=alike)}")
        packed = f"SELECT * EXCLUDE ({quote(PIECE)}), {{}} FROM"
        if ways.whole:
            parts.append(f"{packed.format(_place(whole_at))} {self._files([pack.path for pack in ways.whole])}")
        if ways.partly:
            own = f"{quote(PIECE)} IN ({', '.join(map(literal, ways.names))})"
            files = self._files([pack.path for pack in ways.partly])
            parts.append(f"{packed.format(_place(whole_at + len(ways.whole)))} {files} WHERE {own}")
        parts += [f"SELECT * FROM {self._prefix}{number}" for number in range(len(self._tails))]
        if self.named:
            nulls = ", ".join(f"NULL::{column.kind} AS {quote(column.name)}" for column in self.named)
            parts.append(f"SELECT {nulls} WHERE false")
        return " UNION ALL BY NAME ".join(parts)

    def more(self) -> list[str]:
        """The columns of sample metrics and tags."""
        metrics = dict.fromkeys(name for piece in self.pieces for name in piece.metrics)
        tags = dict.fromkeys(name for piece in self.pieces for name in piece.tags)
        return [*map(metric_column, metrics), *map(tag_column, tags)]

    def place(self, file: int, row: int) -> RowPlace:
        """The row that `PLACE` names."""
        alone = len(self.ways.alone)
        if file < alone:
            return RowPlace(self.ways.alone[file], row)
        if file - alone >= len(self._packs):
            return RowPlace(self._tails[file - alone - len(self._packs)], row)
        members = self.ways.packed[self._packs[file - alone]]
        piece = members[bisect_right(members, row, key=lambda member: member.first) - 1]
        return RowPlace(piece, row - piece.first)

    def numbers(self, places: Iterable[RowPlace]) -> pa.Table:
        """The table of `PLACE` for these rows, and `nth`, their order. Raises `KeyError` for a row of another piece."""
        alone = {id(piece): (number, 0) for number, piece in enumerate(self.ways.alone)}
        packed = {
            id(piece): (len(alone) + number, piece.first)
            for number, pack in enumerate(self._packs)
            for piece in self.ways.packed[pack]
        }
        tails = {id(piece): (len(alone) + len(self._packs) + n, 0) for n, piece in enumerate(self._tails)}
        first = {**alone, **packed, **tails}
        found = [(*first[id(piece)], row) for piece, row in places]
        return pa.table({
            FILE: pa.array([file for file, _, _ in found], pa.int64()),
            ROW: pa.array([begin + row for _, begin, row in found], pa.int64()),
            "nth": pa.array(range(len(found)), pa.int64()),
        })  # fmt: skip

    def _files(self, paths: Iterable[Path], *, alike: bool = False) -> str:
        """Files of an index; all lie two levels below its folder, and to resolve thousands of names takes long.

        Where they have the same columns DuckDB need not look into all of them first.
        """
        names = ", ".join(literal(f"{self._folder}/{path.parent.name}/{path.name}") for path in paths)
        return f"read_parquet([{names}], union_by_name = {str(not alike).lower()})"


def _place(first: int) -> str:
    return f"{first} + file_index::BIGINT AS {PLACE[0]}, file_row_number AS {PLACE[1]}"


def _numbered(table: pa.Table, file: int) -> pa.Table:
    files = pa.array([file], pa.int64()).take(pa.array([0] * len(table), pa.int64()))
    return table.append_column(FILE, files).append_column(ROW, pa.array(range(len(table)), pa.int64()))


def definition(base: TableReading, said: TableReading, asked: Said) -> str:
    """The definition of `rows`, and of `base`: without annotations, and with what was recorded again since."""
    there = {*dict(FIXED), *base.more(), *(column.name for column in base.named)}
    columns = [column for column in (*SAID, *said.more()) if column in set(asked.columns)] if said.pieces else []
    counted = f" REPLACE ({COUNTED})" if any(column.name == NUMBER_COLUMN for column in base.named) else ""
    current = f"SELECT *{counted} FROM base{_current(base.pieces)}"
    if not columns:
        return f"base AS ({base.sql()}), rows AS ({current})"
    newest = ", ".join(f"arg_max({quote(one)}, row(source, byte_start, nth)) AS {quote(one)}" for one in columns)
    replaced = ", ".join(_newer(one, known=True) for one in columns if one in there)
    added = "".join(f", {_newer(one, known=False)}" for one in columns if one not in there)
    wanted = f"FROM ({current}) SEMI JOIN places USING ({', '.join(PLACE)})" if asked.places else current
    return f"""base AS ({base.sql()}), said AS ({said.sql()}), wanted AS ({wanted}),
    newest AS (
        SELECT uid, {newest} FROM said
        WHERE uid IN (SELECT uid FROM wanted UNION SELECT trace_id FROM wanted) AND uid <> '' GROUP BY uid
    ),
    rows AS (
        SELECT wanted.* REPLACE ({replaced}){added} FROM wanted
        LEFT JOIN newest AS own ON own.uid = wanted.uid LEFT JOIN newest AS whole ON whole.uid = wanted.trace_id
    )"""


def _current(pieces: Sequence[Piece]) -> str:
    """The condition that leaves aside what older launches recorded of steps that were recorded again."""
    steps = dict.fromkeys(aside for piece in pieces for aside in piece.aside)
    older = (
        f"(split = {literal(split)} AND step = {step} AND launch BETWEEN 1 AND {launch - 1})"
        for split, step, launch in steps
    )
    return f" WHERE NOT ({' OR '.join(older)})" if steps else ""


def _newer(column: str, *, known: bool) -> str:
    name = quote(column)
    return f"coalesce(own.{name}, whole.{name}{f', wanted.{name}' if known else ''}) AS {name}"
