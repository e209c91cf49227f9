"""Samples as a table in a file: JSON lines, CSV or Parquet, written in pieces, for runs of any size.

Each row is a sample, with the same columns in all three; a line of JSON omits sample metrics and tags that the sample
lacks. Missing values are null, and so is `discarded` of trained samples. Numbers that JSON lacks are "NaN", "Infinity"
and "-Infinity", as in the rest of Rolloupe. In CSV, a text that a spreadsheet would take for a formula begins with an
apostrophe.
"""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.derive import PREFIX
from rolloupe.errors import BadQuery, NotFound, SourceChanged
from rolloupe.model import EXPORTED, SampleKey, Texts

KINDS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
"""The kinds of files, by their endings, and their media types."""

BATCH = 500
"""Rows in memory at a time."""

PIECE_BYTES = 64 * 1024

WHOLE = ("label", "ref_response")
"""Columns of files with whole samples: the ground truth, and the reference response."""

WORDS = (
    "id", "run", *(name for name, column in EXPORTED.items() if not column.is_number), *WHOLE, "note",
)  # fmt: skip
COUNTS = tuple(name for name, column in EXPORTED.items() if column.type == "integer")
FIXED = ("id", "run", *EXPORTED)
"""The columns of every file, in order; sample metrics and tags follow."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class TableColumns(NamedTuple):
    """The columns of a file: sample metrics, tags and derived metrics by their names in it."""

    metrics: dict[str, str]
    tags: dict[str, str]
    derived: dict[str, str]
    has_notes: bool = False
    is_whole: bool = False

    @property
    def fixed(self) -> tuple[str, ...]:
        """The columns that are neither metric nor tag."""
        return (*FIXED, *(WHOLE if self.is_whole else ()), *(["note"] if self.has_notes else []))

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order."""
        return [*self.fixed, *self.metrics.values(), *self.tags.values(), *self.derived.values()]


def columns_of(
    metrics: Sequence[str],
    tags: Sequence[str],
    derived: Sequence[str] = (),
    *,
    has_notes: bool = False,
    is_whole: bool = False,
) -> TableColumns:
    """The columns for these metrics, tags and derived metrics: `metric.NAME` or `tag.NAME` if a name is taken."""
    names = {*FIXED, *WHOLE, "note"}

    def free(name: str, prefix: str) -> str:
        while name in names:
            name = prefix + name
        names.add(name)
        return name

    of_derived = {name: free(f"{PREFIX}{name}", "") for name in dict.fromkeys(derived)}
    of_metrics = {name: free(name, "metric.") for name in dict.fromkeys(metrics)}
    of_tags = {name: free(name, "tag.") for name in dict.fromkeys(tags)}
    return TableColumns(of_metrics, of_tags, of_derived, has_notes, is_whole)


def rows(
    run_id: str,
    items: Iterable[Any],
    columns: TableColumns,
    read: Callable[[SampleKey], Texts] | None = None,
    notes: Mapping[SampleKey, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of samples. With `read`, which `is_whole` needs, texts are whole if they can be read."""
    for item in items:
        row = {name: item.columns.get(name, getattr(item, name, None)) for name in columns.fixed}
        key = item.key
        row |= {
            "id": str(key), "run": run_id, "split": key.split, "step": key.step, "group": key.group, "index": key.index,
            "discarded": item.discarded or None,
        }  # fmt: skip
        if columns.has_notes:
            row["note"] = (notes or {}).get(key, "")
        if read is not None:
            try:
                whole = read(key)
                row["prompt"], row["response"] = whole.prompt, whole.response
                row |= {"label": whole.label or None, "ref_response": whole.reference or None}
            except (NotFound, SourceChanged):
                pass  # its file is gone or was rewritten: the index still has the starts of its texts
        row |= {column: item.metrics.get(name) for name, column in columns.metrics.items()}
        row |= {column: item.tags.get(name) for name, column in columns.tags.items()}
        row |= {column: item.derived.get(name) for name, column in columns.derived.items()}
        yield row


def written(kind: str, columns: TableColumns, records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """The bytes of a file. Raises `BadQuery` for an unknown kind."""
    if kind == "csv":
        lines = csv_lines(columns.names, ([row[name] for name in columns.names] for row in records))
        return chain(["\ufeff".encode()], lines)  # without this mark, spreadsheets misread UTF-8
    if kind not in KINDS:
        raise BadQuery(f"{kind!r} cannot be written; there are: {', '.join(KINDS)}")
    return _gathered((_json_lines if kind == "jsonl" else _parquet)(columns, records))


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces into larger ones; drops empty pieces."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= PIECE_BYTES:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _json_lines(columns: TableColumns, records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    always = {*columns.fixed}
    for row in records:
        values = {name: _plain(value) for name, value in row.items() if value is not None or name in always}
        yield text.clean(_encode(values)).encode() + b"\n"


def csv_lines(names: Sequence[str], records: Iterable[Sequence[object]]) -> Iterator[bytes]:
    """Return the bytes of rows as CSV, after a header."""

    def lines() -> Iterator[bytes]:
        page = io.StringIO()
        writer = csv.writer(page)
        for row in chain([names], records):
            formulas = [isinstance(value, str) and value.startswith(FORMULA) for value in row]
            writer.writerow(
                [f"'{value}" if is_formula else _plain(value) for value, is_formula in zip(row, formulas, strict=True)]
            )
            yield text.clean(page.getvalue()).encode()
            page.seek(0)
            page.truncate()

    return _gathered(lines())


def _parquet(columns: TableColumns, records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {**dict.fromkeys(WORDS, pa.string()), **dict.fromkeys(COUNTS, pa.int64())}
    fields = [(name, kinds.get(name, pa.float64())) for name in columns.fixed]
    fields += [(name, pa.float64()) for name in columns.metrics.values()]
    fields += [(name, pa.string()) for name in columns.tags.values()]
    fields += [(column, pa.float64()) for column in columns.derived.values()]
    schema = pa.schema([(text.clean(name), kind) for name, kind in fields])
    sink = Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        records = iter(records)
        while batch := list(islice(records, BATCH)):
            arrays = []
            for name, kind in fields:
                values = [row[name] for row in batch]
                arrays.append(pa.array([text.clean(it) if isinstance(it, str) else it for it in values], kind))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.take()
    yield sink.take()


class Sink(io.BytesIO):
    """A file that holds written bytes until its owner takes them; positions count from its beginning."""

    _taken = 0

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._taken + super().tell()

    def take(self) -> bytes:
        """Return the bytes written since the last call."""
        data = self.getvalue()
        self._taken += len(data)
        self.seek(0)
        self.truncate()
        return data


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
