"""The columns of a segment: rows of a scan as an Arrow table.

Owns the names. A sample metric `reward.acc` is the column `m.reward.acc`, a tag `bench` the column `t.bench`. DuckDB
compares column names without regard to case and metric names come from hostile files, so every character but
`a-z 0-9 . _ - /` and blank is written as `~` and its UTF-8 bytes in hex, between `~`s: injective, and safe in any case.
"""

import hashlib
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rolloupe import text
from rolloupe.index.segments.index_row import IndexRow
from rolloupe.model import Annotation, SampleRow

MAX_METRICS = 512
"""Distinct sample metrics a segment holds as columns; more show in the sample alone, and a problem says so."""
MAX_TAGS = 128
MAX_NAME_BYTES = 200

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-/ ")

FIXED: tuple[tuple[str, pa.DataType], ...] = (
    ("split", pa.dictionary(pa.int32(), pa.string())),
    ("step", pa.int64()),
    ("grp", pa.string()),
    ("idx", pa.string()),
    ("ordinal", pa.int64()),
    ("source", pa.dictionary(pa.int32(), pa.string())),
    ("byte_start", pa.int64()),
    ("byte_length", pa.int64()),
    ("part", pa.string()),
    ("reward", pa.float64()),
    ("advantage", pa.float64()),
    ("status", pa.dictionary(pa.int32(), pa.string())),
    ("status_raw", pa.dictionary(pa.int32(), pa.string())),
    ("turns", pa.int64()),
    ("prompt_tokens", pa.int64()),
    ("response_tokens", pa.int64()),
    ("total_tokens", pa.int64()),
    ("response_chars", pa.int64()),
    ("env", pa.dictionary(pa.int32(), pa.string())),
    ("uid", pa.string()),
    ("trace_id", pa.string()),
    ("discarded", pa.dictionary(pa.int32(), pa.string())),
    ("launch", pa.int32()),
    ("problem", pa.int64()),
    ("prompt_preview", pa.string()),
    ("response_preview", pa.string()),
    ("response_end", pa.string()),
)

NUMERIC = ("reward", "advantage", "prompt_tokens", "response_tokens", "total_tokens", "response_chars", "turns")
"""The fixed columns that are numbers a person may chart, sort and filter by."""

KNOWN = {
    "split": "split", "step": "step", "group": "grp", "index": "idx",
    **{name: name for name in (*NUMERIC, "status", "env", "uid", "discarded")},
}  # fmt: skip
"""The fixed columns that a person knows, by the names they know. The others are nobody's business: names of these are
free for sample metrics and tags."""

ALIASES = {
    **dict.fromkeys(("length", "response_length", "response_token_count", "completion_tokens"), "response_tokens"),
    **dict.fromkeys(("prompt_length", "prompt_token_count"), "prompt_tokens"),
    **dict.fromkeys(("total_length", "total_token_count"), "total_tokens"),
}
"""Other names of fixed columns, as trainers have them, unless a sample metric or a tag is called so."""

NUMBER = "number"
"""What a person calls the place of a sample in its step, from 0, unless a sample metric or a tag is called so."""

NUMBER_COLUMN = "~number"
"""A column that no segment has: it is counted where a question names it."""


class Meant(NamedTuple):
    """What a person means by a name: `kind` is `fixed`, `metric`, `tag` or `number`; `name` is as the kind has it."""

    kind: str
    name: str

    @property
    def column(self) -> str:
        """Its column."""
        if self.kind == NUMBER:
            return NUMBER_COLUMN
        return {"metric": metric_column, "tag": tag_column}.get(self.kind, KNOWN.__getitem__)(self.name)


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


def is_taken(name: str) -> bool:
    """True where a sample metric or tag has a name that means a fixed column: it is `metric.NAME`, `tag.NAME` then."""
    while (bare := name.removeprefix("metric.").removeprefix("tag.")) != name:
        name = bare
    return name in KNOWN


def meant(name: str, metrics: Collection[str], tags: Collection[str]) -> Meant | None:
    """What a person means by `name`: a fixed column, a sample metric, a tag; None if there is none such.

    `metric.NAME` and `tag.NAME` are the metric and the tag NAME, unless one that could be said otherwise is called so.
    """
    if name in KNOWN:
        return Meant("fixed", name)
    there = (("metric", metrics), ("tag", tags))
    own = [Meant(kind, name) for kind, names in there if name in names]
    prefixed = [
        Meant(kind, name.removeprefix(f"{kind}."))
        for kind, names in there
        if name.startswith(f"{kind}.") and name.removeprefix(f"{kind}.") in names
    ]
    found = [*prefixed, *own] if is_taken(name) else [*own, *prefixed]
    if not found and name == NUMBER:
        return Meant(NUMBER, NUMBER)
    if not found and name in ALIASES:
        return Meant("fixed", ALIASES[name])
    return found[0] if found else None


def column_of(name: str, metrics: Collection[str], tags: Collection[str]) -> str | None:
    """The column that a person means by `name`; None if there is none such."""
    found = meant(name, metrics, tags)
    return found.column if found else None


def kind_of(column: str) -> str:
    """The SQL type of a column that segments may lack; empty for a fixed column, which every segment has."""
    if column == NUMBER_COLUMN:
        return "BIGINT"
    return {"m.": "DOUBLE", "t.": "VARCHAR"}.get(column[:2], "")


def _int64(value: int | None) -> int | None:
    return value if value is None or -(2**63) <= value < 2**63 else None


def _fixed_values(entry: IndexRow, source: str) -> tuple[Any, ...]:
    row = entry.row
    return (
        row.split, row.step, row.group, row.index, row.ordinal, source, row.start, row.length, row.part,
        row.reward, row.advantage, row.status, row.status_raw, row.turns, _int64(row.prompt_tokens),
        _int64(row.response_tokens), _int64(row.total_tokens), entry.response_chars, row.env, row.uid, row.trace_id,
        row.discarded, min(row.launch, 2**31 - 1), entry.problem, entry.prompt_preview, entry.response_preview,
        entry.response_end,
    )  # fmt: skip


def names_of(rows: Sequence[SampleRow] | Sequence[Annotation]) -> tuple[list[str], list[str], int]:
    """The metric and tag names of some rows in order of appearance, and how many did not fit."""
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    tags = list(dict.fromkeys(name for row in rows for name in row.tags))
    left_out = max(0, len(metrics) - MAX_METRICS) + max(0, len(tags) - MAX_TAGS)
    return metrics[:MAX_METRICS], tags[:MAX_TAGS], left_out


def table_of(entries: Sequence[IndexRow], source: str) -> pa.Table:
    """Build the scalar table of some entries of one source."""
    records = [_fixed_values(entry, source) for entry in entries]
    columns = list(zip(*records, strict=True)) if records else [()] * len(FIXED)
    arrays = [pa.array(column, type=kind) for column, (_, kind) in zip(columns, FIXED, strict=True)]
    names = [name for name, _ in FIXED]
    return _with_names(pa.Table.from_arrays(arrays, names=names), [entry.row for entry in entries])


SAID = ("advantage", "discarded")
"""The fixed columns of which annotations may say something newer."""


def annotations_of(found: Sequence[Annotation], source: str) -> pa.Table:
    """Build the table of annotations of one source: what is newer has the greater `source`, `byte_start`, `nth`."""
    place = text.natural(source)
    columns = {
        "uid": pa.array([one.uid for one in found], pa.string()),
        "source": pa.array([place] * len(found), pa.dictionary(pa.int32(), pa.string())),
        "file": pa.array([source] * len(found), pa.dictionary(pa.int32(), pa.string())),
        "byte_start": pa.array([one.start for one in found], pa.int64()),
        "byte_length": pa.array([one.length for one in found], pa.int64()),
        "nth": pa.array(range(len(found)), pa.int64()),
        "advantage": pa.array([one.advantage for one in found], pa.float64()),
        "discarded": pa.array([one.discarded for one in found], pa.string()),
    }
    return _with_names(pa.table(columns), found)


def _with_names(table: pa.Table, rows: Sequence[SampleRow] | Sequence[Annotation]) -> pa.Table:
    """The table with a column for each sample metric and tag."""
    metrics, tags, _ = names_of(rows)
    arrays = [pa.array([row.metrics.get(name) for row in rows], type=pa.float64()) for name in metrics]
    arrays += [pa.array([row.tags.get(name) for row in rows], type=pa.string()) for name in tags]
    names = [*map(metric_column, metrics), *map(tag_column, tags)]
    return pa.Table.from_arrays([*table.columns, *arrays], names=[*table.column_names, *names])


TEXT_SCHEMA = pa.schema(
    [("byte_start", pa.int64()), ("part", pa.string()), ("prompt", pa.string()), ("response", pa.string())]
)


def text_table_of(rows: Sequence[SampleRow]) -> pa.Table:
    """Build the text table of some rows, in the order of the scalar table."""
    columns = {
        "byte_start": [row.start for row in rows],
        "part": [row.part for row in rows],
        "prompt": [row.prompt for row in rows],
        "response": [row.response for row in rows],
    }
    return pa.Table.from_pydict(columns, schema=TEXT_SCHEMA)
