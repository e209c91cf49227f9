"""Files appear whole, whatever their name."""

from pathlib import Path

import pytest

from rolloupe.storage import atomic


@pytest.mark.parametrize("name", ["日" * 85, "é" * 127, "a" * 255])
def test_a_file_may_have_as_long_a_name_as_the_disk_takes(tmp_path: Path, name: str) -> None:
    atomic.write(tmp_path / name, memoryview(b"whole"))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"whole")]
