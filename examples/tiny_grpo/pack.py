"""Make a finished run small: no weights, texts in zstd, and the token series of all steps in one part.

    python pack.py RUN [BITS]

What the run holds stays the same, to the last bit of each number. With BITS, token series keep so many bits of each
number, and what lines say of them so many digits as a float32 has: the bundled run keeps 13. A series that others give
is then left out, since it would no longer agree with them. The run cannot be resumed afterwards.
"""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rolloupe.record.token_series import facts

WHOLE = 24
"""The bits of a float32 that say where in its power of two it lies."""

COMPUTED = ["importance_ratio"]
"""Series that can be computed from others."""

LEVEL = 22
ROW_GROUP_ROWS = 1024
"""One sample is read by decoding its row group, which takes some milliseconds."""


def pack(run: Path, bits: int = WHOLE) -> None:
    """Pack a run in its place."""
    shutil.rmtree(run / "checkpoints", ignore_errors=True)
    for lock in run.glob(".launch-*.lock"):
        lock.unlink()
    parts = {folder.name: _merge(folder, bits) for folder in sorted(run.glob("tokens/*"))}
    for path in sorted(run.glob("*/*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        part = parts.get(path.stem)
        if bits < WHOLE:
            lines = [_shortened(line) if b'"advantage":' in line else line for line in lines]
        _write_packed(path, b"".join(part.moved(line) if part and b'"series":' in line else line for line in lines))


class Part(NamedTuple):
    """The one part of a producer, and the row at which each of its former parts begins there."""

    table: pa.Table
    first_rows: dict[int, int]
    is_rounded: bool

    def moved(self, line: bytes) -> bytes:
        """Return a line that names a row of a former part with the row of this one, and what it says of that row."""
        record: dict[str, Any] = json.loads(line)
        series = record["series"]
        series["row"] += self.first_rows[series["part"]]
        series["part"] = 0
        if self.is_rounded and "facts" in series:
            series["facts"] = self._facts(series["row"], [name for name in series["facts"] if name not in COMPUTED])
        return _line(record)

    def _facts(self, row: int, names: list[str]) -> dict[str, list[float]]:
        arrays = {name: self.table[name][row].values.to_numpy() for name in names}
        return {name: [_short(value) for value in values] for name, values in facts(arrays).items()}


def _short(value: float) -> float:
    """Return the number of the fewest digits that is the same float32."""
    return value if isinstance(value, int) else float(str(np.float32(value)))


def _shortened(line: bytes) -> bytes:
    """Return a line with the fewest digits of its advantage, which a trainer computes as a float32."""
    record = json.loads(line)
    if isinstance(record["advantage"], float):
        record["advantage"] = _short(record["advantage"])
    return _line(record)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _merge(folder: Path, bits: int) -> Part:
    """Write the parts of a producer as one."""
    paths = sorted(folder.glob("*.parquet"))
    tables = [pq.read_table(path) for path in paths]
    first_rows, rows = {}, 0
    for path, table in zip(paths, tables, strict=True):
        first_rows[int(path.stem)] = rows
        rows += table.num_rows
    merged = _rounded(pa.concat_tables(tables, promote_options="default").combine_chunks(), bits)
    for path in paths:
        path.unlink()
    (folder / "000000.parquet").write_bytes(_encoded(merged, _split_columns(merged)))
    return Part(merged, first_rows, bits < WHOLE)


def _rounded(table: pa.Table, bits: int) -> pa.Table:
    """Return the table with so many bits of each float, and without what can be computed if these are not all."""
    if bits < WHOLE:
        table = table.drop_columns([name for name in COMPUTED if name in table.column_names])
    for at, field in enumerate(table.schema):
        if bits < WHOLE and pa.types.is_list(field.type) and pa.types.is_floating(field.type.value_type):
            (column,) = table[field.name].chunks
            values = pa.array(_nearest(column.values.to_numpy(zero_copy_only=False), WHOLE - bits))
            lists = pa.ListArray.from_arrays(column.offsets, values, mask=column.is_null())
            table = table.set_column(at, field, lists)
    return table


def _nearest(values: NDArray[np.float32], spare: int) -> NDArray[np.float32]:
    """Return the nearest floats whose last bits are zero."""
    whole = values.view(np.uint32).astype(np.uint64) + (1 << (spare - 1))
    nearest = (whole >> spare << spare).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(values), nearest, values)


def _split_columns(table: pa.Table) -> list[str]:
    """Return the columns that take less room with the bytes of their numbers apart."""
    names = [field.name for field in table.schema if pa.types.is_list(field.type) and field.name != "token_ids"]
    sizes = {name: [len(_encoded(table.select([name]), split)) for split in ([name], [])] for name in names}
    return [name for name, (apart, together) in sizes.items() if apart < together]


def _encoded(table: pa.Table, split: list[str]) -> bytes:
    target = io.BytesIO()
    pq.write_table(
        table, target, compression="zstd", compression_level=LEVEL, row_group_size=ROW_GROUP_ROWS, use_dictionary=False,
        use_byte_stream_split=[f"{name}.list.element" for name in split] or False, write_statistics=False,
    )  # fmt: skip
    return target.getvalue()


def _write_packed(path: Path, data: bytes) -> None:
    codec = pa.Codec("zstd", compression_level=LEVEL)
    path.with_name(f"{path.name}.zst").write_bytes(codec.compress(data, asbytes=True))
    path.unlink()


if __name__ == "__main__":
    pack(Path(sys.argv[1]), *map(int, sys.argv[2:]))
