"""The Arrow schema of a segment: rows of a scan as a table, from the table of columns in `rolloupe.columns`.

Owns the names in the index. A sample metric `reward.acc` is the column `m.reward.acc`, a tag `bench` the column
`t.bench`. DuckDB compares column names without regard to case and metric names come from hostile files, so every
character but `a-z 0-9 . _ - /` and blank is written as `~` and its UTF-8 bytes in hex, between `~`s: injective, and
safe in any case.
"""

import hashlib
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa

from rolloupe import text
from rolloupe.columns import ALIASES, COLUMNS, KNOWN, ColumnType
from rolloupe.derive import METRICS, PREFIX
from rolloupe.index.segments.index_row import IndexRow
from rolloupe.model import Annotation, SampleRow

MAX_METRICS = 512
"""Distinct sample metrics a segment holds as columns; more show in the sample alone, and a problem says so."""
MAX_TAGS = 128
MAX_NAME_BYTES = 200

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-/ ")

WORD = pa.dictionary(pa.int32(), pa.string())
ARROW_TYPES: dict[ColumnType, pa.DataType] = {
    "integer": pa.int64(), "short": pa.int32(), "number": pa.float64(), "text": pa.string(), "word": WORD,
}  # fmt: skip
LARGEST = {"integer": 2**63 - 1, "short": 2**31 - 1}

FIXED = frozenset(column.column for column in COLUMNS)
"""The columns that every segment has."""

DERIVED_COLUMNS = "d."
"""What the columns of derived metrics begin with."""

NUMBER = "number"
"""What a person calls the place of a sample in its step, from 0, unless a sample metric or a tag has that name."""

NUMBER_COLUMN = "~number"
"""A column that no segment has: a question that names it counts."""


class ColumnRef(NamedTuple):
    """What a name refers to: `kind` is `fixed`, `metric`, `tag`, `derived` or `number`, `name` as the kind has it."""

    kind: str
    name: str

    @property
    def column(self) -> str:
        """Its column in the index."""
        if self.kind == NUMBER:
            return NUMBER_COLUMN
        if self.kind == "fixed":
            return KNOWN[self.name].column
        return {"metric": metric_column, "tag": tag_column, "derived": derived_column}[self.kind](self.name)


def _escape(name: str) -> str:
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
        name = f"{name[:40]}... {digest}"
    return "".join(c if c in PLAIN else f"~{c.encode('utf-8', 'replace').hex()}~" for c in name)


def metric_column(name: str) -> str:
    """The column of a sample metric."""
    return f"m.{_escape(name)}"


def tag_column(name: str) -> str:
    """The column of a tag."""
    return f"t.{_escape(name)}"


def derived_column(name: str) -> str:
    """The column of a derived metric."""
    return f"{DERIVED_COLUMNS}{name}"


def derived_metric(name: str) -> str:
    """The derived metric that a person means by `derived.NAME`; empty where there is none."""
    bare = name.removeprefix(PREFIX)
    return bare if bare != name and bare in METRICS else ""


def is_reserved(name: str) -> bool:
    """True where a sample metric or tag has the name of another column: it is `metric.NAME`, `tag.NAME` then."""
    while (bare := name.removeprefix("metric.").removeprefix("tag.")) != name:
        name = bare
    return name in KNOWN or bool(derived_metric(name))


def resolve(name: str, metrics: Collection[str], tags: Collection[str]) -> ColumnRef | None:
    """What a person means by `name`: a fixed column, a derived or sample metric, a tag; None if there is none such.

    `metric.NAME` and `tag.NAME` are the metric and the tag NAME, unless one that needs no prefix has that name.
    """
    if name in KNOWN:
        return ColumnRef("fixed", name)
    if derived := derived_metric(name):
        return ColumnRef("derived", derived)
    kinds = (("metric", metrics), ("tag", tags))
    exact = [ColumnRef(kind, name) for kind, names in kinds if name in names]
    prefixed = [
        ColumnRef(kind, name.removeprefix(f"{kind}."))
        for kind, names in kinds
        if name.startswith(f"{kind}.") and name.removeprefix(f"{kind}.") in names
    ]
    matches = [*prefixed, *exact] if is_reserved(name) else [*exact, *prefixed]
    if not matches and name == NUMBER:
        return ColumnRef(NUMBER, NUMBER)
    if not matches and name in ALIASES:
        return ColumnRef("fixed", ALIASES[name])
    return matches[0] if matches else None


def column_of(name: str, metrics: Collection[str], tags: Collection[str]) -> str | None:
    """The column that a person means by `name`; None if there is none such."""
    ref = resolve(name, metrics, tags)
    return ref.column if ref else None


def sql_type(column: str) -> str:
    """The SQL type of a column that segments may lack; empty for a fixed column, which every segment has."""
    if column == NUMBER_COLUMN:
        return "BIGINT"
    if column.startswith(DERIVED_COLUMNS):
        return "VARCHAR" if METRICS[column.removeprefix(DERIVED_COLUMNS)].kind == "tag" else "DOUBLE"
    return {"m.": "DOUBLE", "t.": "VARCHAR"}.get(column[:2], "")


def names_of(rows: Sequence[SampleRow] | Sequence[Annotation]) -> tuple[list[str], list[str], int]:
    """The metric and tag names of some rows in order of appearance, and how many did not fit."""
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    tags = list(dict.fromkeys(name for row in rows for name in row.tags))
    left_out = max(0, len(metrics) - MAX_METRICS) + max(0, len(tags) - MAX_TAGS)
    return metrics[:MAX_METRICS], tags[:MAX_TAGS], left_out


def table_of(entries: Sequence[IndexRow], source: str) -> pa.Table:
    """Build the scalar table of some entries of one source."""
    columns: dict[str, pa.Array] = {}
    for one in COLUMNS:
        values = [source] * len(entries) if one.source == "source" else list(map(attrgetter(one.source), entries))
        columns[one.column] = pa.array(_bounded(values, one.type), ARROW_TYPES[one.type])
    return _with_names(pa.table(columns), [entry.row for entry in entries])


def _bounded(values: list[Any], type: ColumnType) -> list[Any]:
    """Integers that fit: a count that does not is none, a launch is the last that there can be."""
    largest = LARGEST.get(type)
    if largest is None or all(value is None or -largest <= value <= largest for value in values):
        return values
    beyond = largest if type == "short" else None
    return [value if value is None or -largest <= value <= largest else beyond for value in values]


def annotations_of(annotations: Sequence[Annotation], source: str) -> pa.Table:
    """Build the table of annotations of one source: what is newer has the greater `source`, `byte_start`, `nth`."""
    count, place = len(annotations), text.natural(source)
    columns = {
        "uid": pa.array([one.uid for one in annotations], pa.string()),
        "source": pa.array([place] * count, WORD),
        "file": pa.array([source] * count, WORD),
        "byte_start": pa.array([one.start for one in annotations], pa.int64()),
        "byte_length": pa.array([one.length for one in annotations], pa.int64()),
        "nth": pa.array(range(count), pa.int64()),
        "advantage": pa.array([one.advantage for one in annotations], pa.float64()),
        "discarded": pa.array([one.discarded for one in annotations], pa.string()),
    }
    return _with_names(pa.table(columns), annotations)


def _with_names(table: pa.Table, rows: Sequence[SampleRow] | Sequence[Annotation]) -> pa.Table:
    """The table with a column for each sample metric and tag."""
    metrics, tags, _ = names_of(rows)
    arrays = [pa.array([row.metrics.get(name) for row in rows], type=pa.float64()) for name in metrics]
    arrays += [pa.array([row.tags.get(name) for row in rows], type=pa.string()) for name in tags]
    names = [*map(metric_column, metrics), *map(tag_column, tags)]
    return pa.Table.from_arrays([*table.columns, *arrays], names=[*table.column_names, *names])
