"""Damaged Parquet and `.pt` files say the true reason, and what to do next."""

import gzip
import io
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rolloupe
from rolloupe.formats.reading.tables.parquet_files import why_no_table, why_no_torch
from rolloupe.formats.unreadable import reason_for
from rolloupe.model import Location


def table() -> bytes:
    """A Parquet file of TRL's columns."""
    rows = {"prompt": ["2+2?"] * 400, "completion": [f"It is {n * n}." for n in range(400)]}
    data = io.BytesIO()
    pq.write_table(pa.table({**rows, "reward": [0.5] * 400, "step": [1] * 400}), data, row_group_size=100)
    return data.getvalue()


def torch() -> bytes:
    """An archive as PyTorch writes it, of an empty dict."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}.")
        archive.writestr("a/data/0", b"\1" * 5000)
    return data.getvalue()


def arrow() -> bytes:
    """An Arrow file."""
    data, one = io.BytesIO(), pa.table({"a": [1]})
    with pa.ipc.new_file(data, one.schema) as writer:
        writer.write_table(one)
    return data.getvalue()


HTML, LFS = b"<!DOCTYPE html><p>404", b"version https://git-lfs.github.com/spec/v1\noid sha256:a\nsize 9\n"
GARBAGE = random.Random(0).randbytes(9000)

ANY: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "empty: 0 bytes. Next: wait"),
    "zeros": (lambda good: bytes(len(good)), "zeros in place of contents"),
    "zeros at its end": (lambda good: good[:3000] + bytes(5000), "its end is zeros"),
    "zeros at its beginning": (lambda good: bytes(100) + good[100:], "its beginning is zeros"),
    "gzip": (gzip.compress, "compressed by gzip, whatever its name says. Next: unpack"),
    "JSON": (lambda _: b'{"prompt": "a"}\n' * 9, "JSON, whatever its name says. Next: name it .jsonl"),
    "HTML": (lambda _: HTML, "a web page"),
    "LFS": (lambda _: LFS, "a pointer of Git LFS in place of the file, whatever its name says. Next: run git lfs pull"),
    "an Arrow file": (lambda _: arrow(), "an Arrow file (Feather)"),
    "SQLite": (lambda _: b"SQLite format 3\0" + bytes(80) + b"x", "a database of SQLite"),
    "garbled": (lambda _: GARBAGE, "garbled"),
}
TABLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in half": (lambda good: good[: len(good) // 2], "cut off, or still being written"),
    "cut within its footer": (lambda good: good[:-20], "cut off, or still being written"),
    "with something behind it": (lambda good: good + b"junk", "its last bytes are not the end of a Parquet file"),
    "encrypted": (lambda good: good[:-4] + b"PARE", "an encrypted Parquet file"),
    "of a long footer": (lambda good: good[:-8] + b"\xff\xff\xff\x7fPAR1", "its end claims a footer of 2,147,483,647"),
    "of a garbled footer": (lambda good: good[:-300] + GARBAGE[:292] + good[-8:], "damaged"),
    "of a garbled page": (lambda good: good[:20] + GARBAGE[:200] + good[220:], "first row group cannot be decoded"),
    "a zip archive": (lambda _: torch(), "a zip archive, whatever its name says"),
    "of other first bytes": (lambda good: b"XXXX" + good[4:], "its first bytes are not those of Parquet"),
}
TORCH: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut in half": (lambda good: good[: len(good) // 2], "cut off, or still being written: the archive has no"),
    "without its directory": (lambda good: good[:-60], "cut off, or still being written"),
    "a Parquet file": (lambda _: table(), "a Parquet file, whatever its name says. Next: name it .parquet"),
    "text": (lambda _: b"hello world " * 9, "no file of PyTorch"),
}


CASES = [
    pytest.param(write, path, why, harm, reason, id=f"{path}, {name}")
    for write, path, why, own in (
        (table, "completions_00001.parquet", why_no_table, TABLES), (torch, "1.pt", why_no_torch, TORCH)
    )
    for name, (harm, reason) in (ANY | own).items()
]  # fmt: skip


@pytest.mark.parametrize(("write", "name", "why", "harm", "reason"), CASES)
def test_a_damaged_file_says_why(
    tmp_path: Path,
    write: Callable[[], bytes],
    name: str,
    why: Callable[[Location], str],
    harm: Callable[[bytes], bytes],
    reason: str,
) -> None:
    (tmp_path / name).write_bytes(harm(write()))
    location = Location(str(tmp_path / name), str(tmp_path))
    said = why(location)
    assert reason in said and "Next: " in said
    assert reason_for(name, location) == said


def test_a_whole_file_is_not_damaged(tmp_path: Path) -> None:
    for name, data, why in (("a.parquet", table(), why_no_table), ("a.pt", torch(), why_no_torch)):
        (tmp_path / name).write_bytes(data)
        assert why(Location(str(tmp_path / name), str(tmp_path))) == ""


def test_a_damaged_file_beside_whole_ones_is_a_problem_with_its_reason(tmp_path: Path) -> None:
    for step in range(3):
        (tmp_path / f"completions_{step:05d}.parquet").write_bytes(table() if step else table()[:-20])
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        assert len(list(runs[0].samples())) == 800
        (problem,) = runs[0].problems()
    assert "cut off, or still being written" in problem.reason and "Next: wait" in problem.reason
