"""Make a finished run small: no weights, texts in zstd, and the token series of all steps in one part.

    python pack.py RUN

What the run holds stays the same, to the last bit of each number. It cannot be resumed afterwards.
"""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

LEVEL = 22
ROW_GROUP_ROWS = 1024
"""One sample is read by decoding its row group, which takes some milliseconds."""


def pack(run: Path) -> None:
    """Pack a run in its place."""
    shutil.rmtree(run / "checkpoints", ignore_errors=True)
    for lock in run.glob(".launch-*.lock"):
        lock.unlink()
    first_rows = {folder.name: _merge(folder) for folder in sorted(run.glob("tokens/*"))}
    for path in sorted(run.glob("*/*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        rows = first_rows.get(path.stem, {})
        _write_packed(path, b"".join(_moved(line, rows) if b'"series":' in line else line for line in lines))


def _merge(folder: Path) -> dict[int, int]:
    """Write the parts of a producer as one; return the row at which each of them begins there."""
    paths = sorted(folder.glob("*.parquet"))
    tables = [pq.read_table(path) for path in paths]
    first_rows, rows = {}, 0
    for path, table in zip(paths, tables, strict=True):
        first_rows[int(path.stem)] = rows
        rows += table.num_rows
    merged = pa.concat_tables(tables, promote_options="default")
    for path in paths:
        path.unlink()
    (folder / "000000.parquet").write_bytes(_encoded(merged, _split_columns(merged)))
    return first_rows


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


def _moved(line: bytes, first_rows: dict[int, int]) -> bytes:
    """Return a line that names a row of a part with the row of the one part that there is now."""
    record: dict[str, Any] = json.loads(line)
    series = record["series"]
    series["row"] += first_rows[series["part"]]
    series["part"] = 0
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _write_packed(path: Path, data: bytes) -> None:
    codec = pa.Codec("zstd", compression_level=LEVEL)
    path.with_name(f"{path.name}.zst").write_bytes(codec.compress(data, asbytes=True))
    path.unlink()


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
