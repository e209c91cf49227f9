"""The columns of a segment: rows of a scan as an Arrow table.

Owns the names. A sample metric `reward.acc` is the column `m.reward.acc`, a tag `bench` the column `t.bench`. DuckDB
compares column names without regard to case and metric names come from hostile files, so every character but
`a-z 0-9 . _ - /` and blank is written as `~` and its UTF-8 bytes in hex, between `~`s: injective, and safe in any case.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rolloupe.index.entry import Entry
from rolloupe.model import SampleRow

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
    ("discarded", pa.dictionary(pa.int32(), pa.string())),
    ("prompt_preview", pa.string()),
    ("response_preview", pa.string()),
)

DICTIONARIES = [name for name, kind in FIXED if pa.types.is_dictionary(kind)]
"""The columns that few values fill: in a file, too, these alone are stored by their values' numbers."""

NUMERIC = ("reward", "advantage", "prompt_tokens", "response_tokens", "total_tokens", "response_chars", "turns")
"""The fixed columns that are numbers a person may chart, sort and filter by."""


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


def column_of(name: str, metrics: Sequence[str], tags: Sequence[str]) -> str | None:
    """The column that a person means by `name`: a fixed one, a sample metric, a tag; None if there is none such."""
    fixed = {"group": "grp", "index": "idx"}.get(name, name)
    if fixed in dict(FIXED):
        return fixed
    if name in metrics:
        return metric_column(name)
    return tag_column(name) if name in tags else None


def kind_of(column: str) -> str:
    """The SQL type of the column of a sample metric or a tag; empty for a fixed column, which every segment has."""
    return {"m.": "DOUBLE", "t.": "VARCHAR"}.get(column[:2], "")


def _int64(value: int | None) -> int | None:
    return value if value is None or -(2**63) <= value < 2**63 else None


def _fixed_values(entry: Entry, source: str) -> tuple[Any, ...]:
    row = entry.row
    return (
        row.split, row.step, row.group, row.index, row.ordinal, source, row.start, row.length, row.part,
        row.reward, row.advantage, row.status, row.status_raw, row.turns, _int64(row.prompt_tokens),
        _int64(row.response_tokens), _int64(row.total_tokens), entry.response_chars, row.env, row.uid, row.discarded,
        entry.prompt_preview, entry.response_preview,
    )  # fmt: skip


def names_of(entries: Sequence[Entry]) -> tuple[list[str], list[str], int]:
    """The metric and tag names of some entries in order of appearance, and how many did not fit."""
    metrics = list(dict.fromkeys(name for entry in entries for name in entry.row.metrics))
    tags = list(dict.fromkeys(name for entry in entries for name in entry.row.tags))
    left_out = max(0, len(metrics) - MAX_METRICS) + max(0, len(tags) - MAX_TAGS)
    return metrics[:MAX_METRICS], tags[:MAX_TAGS], left_out


def table_of(entries: Sequence[Entry], source: str) -> pa.Table:
    """Build the scalar table of some entries of one source."""
    records = [_fixed_values(entry, source) for entry in entries]
    columns = list(zip(*records, strict=True)) if records else [()] * len(FIXED)
    arrays = [pa.array(column, type=kind) for column, (_, kind) in zip(columns, FIXED, strict=True)]
    names = [name for name, _ in FIXED]
    metrics, tags, _ = names_of(entries)
    for name in metrics:
        arrays.append(pa.array([entry.row.metrics.get(name) for entry in entries], type=pa.float64()))
        names.append(metric_column(name))
    for name in tags:
        arrays.append(pa.array([entry.row.tags.get(name) for entry in entries], type=pa.string()))
        names.append(tag_column(name))
    return pa.Table.from_arrays(arrays, names=names)


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
