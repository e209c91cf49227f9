"""Large texts that many rows of a Parquet file share: in memory a few times, not once for each row."""

import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rolloupe.formats.reading.files import alone
from rolloupe.formats.reading.tables.parquet import leading_texts, repeats
from rolloupe.model import Location
from rolloupe.text import digest

ROWS = 64
TEXTS = ["a" * 4_000_000, "b" * 4_000_000]


@pytest.fixture
def location(tmp_path: Path) -> Location:
    path = tmp_path / "completions_00001.parquet"
    prompts = pa.DictionaryArray.from_arrays(pa.array([n // 8 % 2 for n in range(ROWS)]), pa.array(TEXTS))
    pq.write_table(pa.table({"prompt": prompts}), path, store_schema=False)
    return alone(path)


def test_groups_are_found_with_one_large_text_at_a_time(location: Location) -> None:
    tracemalloc.start()
    try:
        leading, times = leading_texts(location, "prompt"), repeats(location, "prompt")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert leading == tuple(digest(TEXTS[n // 8 % 2]) for n in range(ROWS))
    assert [times[n] for n in (0, 8, 16, 24, 32)] == [0, 0, 1, 1, 2]
    assert peak_bytes < 4 * len(TEXTS[0])
