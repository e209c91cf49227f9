"""Reading a trainer's small files."""

from pathlib import Path

import pytest

from rolloupe.formats.reading import trainer_files
from rolloupe.formats.reading.files import alone


@pytest.mark.parametrize("size", [0, 63, 64, 65, 500])
@pytest.mark.parametrize("limit", [10, 64, 100, 10**6])
def test_a_file_is_read_up_to_its_limit(tmp_path: Path, size: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_files, "SMALL_BYTES", 64)
    data = bytes(i % 256 for i in range(size))
    (tmp_path / "file").write_bytes(data)
    assert trainer_files.read_bytes(alone(tmp_path / "file"), limit) == data[:limit]
