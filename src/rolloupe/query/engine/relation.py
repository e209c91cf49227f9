"""The relation `rows` of a query, in SQL: segments, packs and tails combined, and overridden by annotations."""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rolloupe.index import Piece, metric_column, tag_column
from rolloupe.index.segments.columns import DERIVED_COLUMNS, FIXED, NUMBER_COLUMN, STRING_COLUMNS
from rolloupe.index.segments.derived_values import derived_of
from rolloupe.index.segments.pack import PIECE, read_plan
from rolloupe.index.snapshot import Pack
from rolloupe.model import ANNOTATED

FILE, ROW = "~file", "~row"
"""Identifies a row of `rows`: the number of the file in the query, and of the row in the file."""

MANY_COLUMNS = 2_000
"""Beyond this number, columns are named: `SELECT *` takes a time that grows with the square of the columns."""

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')

PLACE_WORD = "~place"
"""The column with the words for the places of samples in their files. Scores refer to samples by these words."""


class Column(NamedTuple):
    """A column of the index: its name there, and its SQL type."""

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

    DuckDB adds before it divides, and the sum of numbers near the largest is infinite. The expression therefore scales
    them down by a power of two, which changes no digit of numbers above 2e-299. `favg` adds as Kahan does, so that the
    order in which threads add changes no digit that is shown.
    """
    return f"(favg({value} * {2.0**-30!r}) FILTER (isfinite({value})) * {2**30})"


def deviation_of(value: str) -> str:
    """The standard deviation of the finite values of an expression, in SQL.

    DuckDB fails on an infinite square. The expression therefore scales numbers above 1e150 down; beside them, smaller
    ones count for nothing.
    """
    finite, large = f"isfinite({value})", f"abs({value}) >= 1e150"
    scaled = f"stddev_pop({value} * {2.0**-530!r}) FILTER ({finite}) * {2.0**530!r}"
    plain = f"stddev_pop({value}) FILTER ({finite} AND NOT {large})"
    return f"(CASE WHEN bool_or({large}) FILTER ({finite}) THEN {scaled} ELSE {plain} END)"


def finite_stats(value: str) -> str:
    """The count, mean, standard deviation, minimum and maximum of the finite values of an expression, in SQL."""
    finite = f"FILTER (isfinite({value}))"
    extremes = f"min({value}) {finite}, max({value}) {finite}"
    return f"count({value}) {finite}, {mean_of(value)}, {deviation_of(value)}, {extremes}"


class AnnotationOverlay(NamedTuple):
    """Annotations of the rows, and the columns in question: annotated values override older ones."""

    pieces: Sequence[Piece] = ()
    columns: Sequence[str] = ()
    places: bool = False  # true if only rows at the places in the query need it
    scores: Sequence[Piece] = ()  # a person's own annotations, which go before those of the run


NO_OVERLAY = AnnotationOverlay()

COUNTED = f"""row_number() OVER (PARTITION BY split, step ORDER BY source, ordinal, byte_start, part) - 1
    AS {quote(NUMBER_COLUMN)}"""
"""The place of each row in its step, in file order. Pieces hold whole steps."""

PLACE = (quote(FILE), quote(ROW))


def place_word(table: str = "rows") -> str:
    """The word for the place of a sample, in SQL; it differs if the record there has a different prompt or length."""
    names = ("byte_start", "byte_length", "prompt_hash", "part", "source")
    return f"concat_ws(':', {', '.join(f'{table}.{name}' for name in names)})"


class RowPlace(NamedTuple):
    """A row of the index, from any file."""

    piece: Piece
    row: int


class TableReading:
    """The pieces of one table, `named` columns that some or all may lack, and the prefix of tables in memory.

    If there are many columns, only those in `used` are read.
    """

    def __init__(
        self,
        folder: Path,
        pieces: Sequence[Piece],
        named: Sequence[Column] = (),
        prefix: str = "tail",
        used: Collection[str] | None = None,
    ) -> None:
        self.pieces, self.named, self._used = pieces, named, used
        self._folder = folder  # the index of the run, resolved
        self._prefix = prefix
        self._is_derived = any(column.name.startswith(DERIVED_COLUMNS) for column in named)
        self.plan = read_plan(pieces, derived=self._is_derived)
        self._packs = [*self.plan.whole, *self.plan.partly]
        self._tails = [piece for piece in pieces if piece.table is not None]

    def tables(self) -> dict[str, pa.Table]:
        """The tables in memory that `sql` names."""
        tables = {}
        for number, table in enumerate(piece.table for piece in self._tails if piece.table is not None):
            file = len(self.plan.alone) + len(self._packs) + number
            files, rows = pa.repeat(pa.scalar(file, pa.int64()), len(table)), pa.array(range(len(table)), pa.int64())
            tables[f"{self._prefix}{number}"] = table.append_column(FILE, files).append_column(ROW, rows)
        return tables

    def sql(self) -> str:
        """The rows of all pieces."""
        plan, whole_at = self.plan, len(self.plan.alone)
        bare = [piece for piece in plan.alone if not (self._is_derived and piece.derived)]
        members = f"WHERE {quote(PIECE)} IN ({', '.join(map(literal, plan.names))})"
        parts = [
            self._segments(bare, 0),
            self._segments(plan.alone[len(bare) :], len(bare), derived=True),
            self._packed(plan.whole, whole_at),
            self._packed(plan.partly, whole_at + len(plan.whole), members),
        ]
        parts += [f"SELECT * FROM {self._prefix}{number}" for number in range(len(self._tails))]
        if self.named:
            nulls = ", ".join(f"NULL::{column.kind} AS {quote(column.name)}" for column in self.named)
            parts.append(f"SELECT {nulls} WHERE false")
        return " UNION ALL BY NAME ".join(filter(None, parts))

    def _segments(self, pieces: Sequence[Piece], first: int, *, derived: bool = False) -> str:
        """The rows of segments, numbered from `first` on; empty without segments."""
        paths = [piece.path for piece in pieces if piece.path is not None]
        alike = _are_alike(pieces)
        columns = "*" if alike else self._columns(pieces)
        return self._rows(paths, list(map(derived_of, paths)) if derived else [], first, columns, alike=alike)

    def _packed(self, packs: Sequence[Pack], first: int, where: str = "") -> str:
        derived = [pack.derived for pack in packs if self._is_derived and pack.derived is not None]
        members = [piece for pack in packs for piece in self.plan.packed[pack]]
        alike = len(packs) == 1 or (not where and _are_alike(members))
        columns = self._columns(members, PIECE)
        rows = self._rows([pack.path for pack in packs], derived, first, columns, alike=alike)
        return f"SELECT * EXCLUDE ({quote(PIECE)}) FROM ({rows}) {where}" if packs else ""

    def _columns(self, pieces: Sequence[Piece], *others: str) -> str:
        if self._used is None or len(more := _more(pieces)) <= MANY_COLUMNS:
            return "*"
        return ", ".join(map(quote, (*sorted(FIXED), *others, *filter(self.uses, more))))

    def _rows(
        self, paths: Sequence[Path], derived: Sequence[Path], first: int, columns: str, *, alike: bool = False
    ) -> str:
        """The rows of some files; files of derived metrics have the same rows, in the same order."""
        if not paths:
            return ""
        place = f"{first} + file_index::BIGINT AS {PLACE[0]}, file_row_number AS {PLACE[1]}"
        numbers = f"SELECT {columns}, {place} FROM {self._files(paths, alike=alike)}"
        if not derived:
            return numbers
        return f"SELECT * FROM ({numbers}) POSITIONAL JOIN (SELECT * FROM {self._files(derived)})"

    def uses(self, column: str) -> bool:
        """True if the statement uses a column."""
        return self._used is None or column in self._used or column in FIXED

    def place(self, file: int, row: int) -> RowPlace:
        """The row that `PLACE` names."""
        alone = len(self.plan.alone)
        if file < alone:
            return RowPlace(self.plan.alone[file], row)
        if file - alone >= len(self._packs):
            return RowPlace(self._tails[file - alone - len(self._packs)], row)
        members = self.plan.packed[self._packs[file - alone]]
        piece = members[bisect_right(members, row, key=lambda member: member.first) - 1]
        return RowPlace(piece, row - piece.first)

    def numbers(self, places: Iterable[RowPlace]) -> pa.Table:
        """The table of `PLACE` for these rows, and `nth`, their order. Raises `KeyError` for a row of another piece."""
        first = self.firsts()
        numbers = [(*first[id(piece)], row) for piece, row in places]
        return pa.table({
            FILE: pa.array([file for file, _, _ in numbers], pa.int64()),
            ROW: pa.array([begin + row for _, begin, row in numbers], pa.int64()),
            "nth": pa.array(range(len(numbers)), pa.int64()),
        })  # fmt: skip

    def firsts(self) -> dict[int, tuple[int, int]]:
        """The numbers in `PLACE` of the first row of each piece, by the piece's `id`."""
        firsts = {id(piece): (number, 0) for number, piece in enumerate(self.plan.alone)}
        for number, pack in enumerate(self._packs, len(self.plan.alone)):
            firsts |= {id(piece): (number, piece.first) for piece in self.plan.packed[pack]}
        tails = enumerate(self._tails, len(self.plan.alone) + len(self._packs))
        return firsts | {id(piece): (number, 0) for number, piece in tails}

    def _files(self, paths: Iterable[Path], *, alike: bool = False) -> str:
        """Name files for DuckDB without resolving each: all lie two levels below the folder of the index.

        If they have the same columns, DuckDB need not inspect all of them first.
        """
        names = ", ".join(literal(f"{self._folder}/{path.parent.name}/{path.name}") for path in paths)
        return f"read_parquet([{names}], union_by_name = {str(not alike).lower()})"


def used_in(sql: str) -> set[str]:
    """The columns that a statement uses, with more: names of sample metrics and tags need quotes."""
    return {name.replace('""', '"') for name in _QUOTED.findall(sql)}


def _are_alike(pieces: Iterable[Piece]) -> bool:
    """True if all pieces have the same columns."""
    return len({(tuple(piece.metrics), tuple(piece.tags)) for piece in pieces}) == 1


def _more(pieces: Sequence[Piece]) -> list[str]:
    """The columns of the sample metrics and the tags of pieces."""
    metrics = dict.fromkeys(name for piece in pieces for name in piece.metrics)
    tags = dict.fromkeys(name for piece in pieces for name in piece.tags)
    return [*map(metric_column, metrics), *map(tag_column, tags)]


def definition(base: TableReading, annotations: TableReading, scores: TableReading, overlay: AnnotationOverlay) -> str:
    """The definition of `rows`, and of `base`: without annotations, and including re-recorded steps."""
    noted = _columns_in(annotations, (*ANNOTATED, *_more(annotations.pieces)), overlay, base)
    scored = _columns_in(scores, _more(scores.pieces), overlay, base)
    place = ", ".join(PLACE)
    computed = [COUNTED for column in base.named if column.name == NUMBER_COLUMN]
    strings = [quote(column.name) for column in base.named if column.name.startswith(STRING_COLUMNS)]
    computed += [f"(({place}) IN (SELECT ({place}) FROM {name})) AS {name}" for name in strings]
    replaced = f" REPLACE ({', '.join(computed)})" if computed else ""
    current = f"SELECT *{replaced} FROM base{where_current(base.pieces)}"
    if not (noted or scored):
        return f"base AS ({base.sql()}), rows AS ({current})"
    known = {*FIXED, *_more(base.pieces), *(column.name for column in base.named)}
    wanted = f"FROM ({current}) SEMI JOIN places USING ({place})" if overlay.places else current
    parts = [f"base AS ({base.sql()})", f"wanted AS ({wanted})"]
    parts.append(_noted(annotations, noted, known) if noted else "noted AS (FROM wanted)")
    parts.append(_scored(scores, scored, known | {*noted}) if scored else "rows AS (FROM noted)")
    return ", ".join(parts)


def _columns_in(table: TableReading, names: Sequence[str], overlay: AnnotationOverlay, base: TableReading) -> list[str]:
    wanted = {name for name in overlay.columns if base.uses(name)}
    return [name for name in names if name in wanted] if table.pieces else []


def _noted(annotations: TableReading, columns: Sequence[str], known: Collection[str]) -> str:
    """The rows with the last values in annotations of their uid, or else of their trace."""
    merged = _merged(columns, known, ("own", "whole"), "wanted")
    return f"""annotations AS ({annotations.sql()}), newest AS (
        SELECT uid, {_last(columns)} FROM annotations
        WHERE uid IN (SELECT uid FROM wanted UNION SELECT trace_id FROM wanted) AND uid <> '' GROUP BY uid
    ),
    noted AS (
        SELECT {merged} FROM wanted
        LEFT JOIN newest AS own ON own.uid = wanted.uid LEFT JOIN newest AS whole ON whole.uid = wanted.trace_id
    )"""


def _scored(scores: TableReading, columns: Sequence[str], known: Collection[str]) -> str:
    word = place_word("noted")
    return f"""scores AS ({scores.sql()}), scored AS (
        SELECT uid, {_last(columns)} FROM scores WHERE uid IN (SELECT {word} FROM noted) GROUP BY uid
    ),
    rows AS (
        SELECT {_merged(columns, known, ("scored",), "noted")} FROM noted LEFT JOIN scored ON scored.uid = {word}
    )"""


def _last(columns: Sequence[str]) -> str:
    return ", ".join(f"arg_max({quote(column)}, row(source, byte_start, nth)) AS {quote(column)}" for column in columns)


def _merged(columns: Sequence[str], known: Collection[str], tables: Sequence[str], older: str) -> str:
    """All columns of the table `older`; `columns` are overridden by `tables`. `known` names the columns of `older`."""

    def newest(column: str) -> str:
        name = quote(column)
        values = [f"{table}.{name}" for table in (*tables, *([older] if column in known else []))]
        return f"coalesce({', '.join(values)}) AS {name}"

    replaced = ", ".join(newest(column) for column in columns if column in known)
    added = "".join(f", {newest(column)}" for column in columns if column not in known)
    return f"{older}.*{f' REPLACE ({replaced})' if replaced else ''}{added}"


def where_current(pieces: Sequence[Piece]) -> str:
    """The condition that drops the records of older launches for steps that a later launch recorded again."""
    steps = dict.fromkeys(step for piece in pieces for step in piece.superseded)
    older = (
        f"(split = {literal(split)} AND step = {step} AND launch BETWEEN 1 AND {launch - 1})"
        for split, step, launch in steps
    )
    return f" WHERE NOT ({' OR '.join(older)})" if steps else ""
