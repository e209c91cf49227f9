"""The metrics of a file of JSON lines, of which only what was appended is read."""

import gzip
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rolloupe.formats.reading.trainer_files as reading
from rolloupe.formats.native import run_files
from rolloupe.formats.reading import line_reader
from rolloupe.formats.reading.trainer_files import lines_so_far, merged_metrics, metrics_of, records
from rolloupe.model import Location
from tests.thoroughness import amount

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = [
    *(json.dumps({"step": step, "loss": step / 3, "new" if step % 2 else "other": 1}).encode() for step in range(4)),
    b'{"step": 1, "loss": 9}', b'{"time": 3.5, "wall": 1}', b"no JSON", b"", b'{"step": "x", "a": 1}',
    b'\xef\xbb\xbf{"step": 2, "b": 1}',
]  # fmt: skip
CHANGES = st.lists(st.tuples(st.sampled_from(("add", "part", "write", "replace", "none")), st.sampled_from(LINES)))


PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}
"""How what is appended to a file is compressed, by the ending of its name."""


def change(path: Path, how: str, line: bytes) -> None:
    packed = PACKED[path.suffix if path.suffix in PACKED else ""]
    before = path.read_bytes() if path.exists() else b""
    if how == "replace":  # by another file with the same length
        (path.parent / "new").write_bytes(before[::-1])
        os.replace(path.parent / "new", path)
    elif how == "write":
        path.write_bytes(packed(line + b"\n"))
    elif how != "none":
        with path.open("ab") as file:
            file.write(packed(line[: len(line) // 2] if how == "part" else line + b"\n"))


@settings(max_examples=amount(60, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHANGES, st.sampled_from(list(PACKED)))
def test_a_file_that_grows_or_is_replaced_has_the_metrics_of_all_its_lines(
    tmp_path_factory: Any, changes: list[tuple[str, bytes]], ending: str
) -> None:
    path = tmp_path_factory.mktemp("metrics") / f"metrics.jsonl{ending}"
    path.write_bytes(b"")
    for how, line in changes:
        change(path, how, line)
        assert metrics_of(Location(str(path), str(path.parent))) == merged_metrics(
            records(Location(str(path), str(path.parent)))
        )
    path.unlink()
    assert metrics_of(Location(str(path), str(path.parent))) == [] == metrics_of(None)


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("is_native", [False, True])
def test_only_appended_lines_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_native: bool, ending: str
) -> None:
    path = tmp_path / f"metrics.jsonl{ending}"
    place = Location(str(path), str(path.parent))

    def row(step: int) -> bytes:
        found = (
            {"values": {"loss": step}, "sums": {"reward": [step, 2]}}
            if is_native
            else {"loss": step, "reward": step / 2}
        )
        return json.dumps({"step": step, **found}).encode() + b"\n"

    def rows() -> list[dict[str, float]]:
        return [one.values for one in (run_files.metrics_in([place]) if is_native else metrics_of(place))]

    read: list[bytes] = []

    def noting(data: bytes) -> Any:
        read.append(data)
        return line_reader.parse(data)

    monkeypatch.setattr(reading, "parse", noting)
    path.write_bytes(PACKED[ending](b"".join(map(row, range(5)))))
    rows()
    rows()  # from the second time on it stays in memory
    for step in range(5, 9):
        read.clear()
        with path.open("ab") as file:
            file.write(PACKED[ending](row(step)))
        assert rows() == [{"loss": one, "reward": one / 2} for one in range(step + 1)]
        assert read == [row(step)[:-1]]
    rows()[0]["loss"] = 99.0
    assert rows()[0]["loss"] == 0, "what was given away is a copy"


def test_a_compressed_file_that_is_written_again_is_read_whole(tmp_path: Path) -> None:
    place = Location(str(tmp_path / "metrics.jsonl.gz"), str(tmp_path))
    for count in (2, 3, 4):
        Path(place.path).write_bytes(gzip.compress(b'{"step": 1, "a": 1}\n' + b'{"wall": 1}\n' * count))
        assert len(lines_so_far(place).rows) == count + 1
