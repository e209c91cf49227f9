"""The texts of samples that share long ones: read once, and written piece by piece."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rolloupe.index.backfill import Backfill
from rolloupe.index.segments import texts
from rolloupe.index.segments.kind import BackfillJob, SegmentSource
from rolloupe.index.segments.segment import parquet_file, parquet_of
from rolloupe.index.segments.texts import read_texts, text_of
from tests.index.support import opened


def shared(folder: Path, prompts: int, samples: int, chars: int, prompt: Any = str) -> Path:
    """A run with a line for each prompt, of so many characters, and several responses to it."""
    folder.mkdir(parents=True)
    with (folder / "run.jsonl").open("w") as file:
        for number in range(prompts):
            line = {
                "step": 0,
                "prompt": prompt(f"{number} " + "word " * (chars // 5)),
                "responses": [f"answer {one}" for one in range(samples)],
                "rewards": [float(one % 2) for one in range(samples)],
            }
            file.write(json.dumps(line) + "\n")
    return folder


@pytest.mark.parametrize("prompt", [str, lambda text: [{"role": "user", "content": text}]])
def test_a_prompt_that_samples_share_is_kept_once_and_written_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prompt: Any
) -> None:
    monkeypatch.setattr(texts, "GROUP_CHARS", 20_000)
    with opened(shared(tmp_path / "run", 3, 10, 5_000, prompt), tmp_path / "index") as library:
        (run,) = library.runs
        assert run.wait_all(30)
        (segment,) = run.snapshot().segments
        source = run.sources.get(segment.meta.source)
        assert source is not None
        job = BackfillJob(folder="", run=run.info, source=source, meta=segment.meta, kinds=[])
        rows = SegmentSource(job).rows
        (piece,) = [one for some in run.snapshot().pieces.values() for one in some]
        batches = list(read_texts(run.info, source, piece, ["prompt", "response"]))
    assert len({id(row.prompt) for row in rows}) == 3
    file = pq.ParquetFile(text_of(segment.path)).metadata
    groups = [file.row_group(number).num_rows for number in range(file.num_row_groups)]
    assert sum(groups) == 30 and max(groups) <= 4
    read = [pair for one in batches for pair in zip(*(some.to_pylist() for some in one.columns), strict=True)]
    assert not any(one.is_scanned for one in batches) and read == [(row.prompt, row.response) for row in rows]


PEAK = """
import sys
from rolloupe.formats import by_name, discover
from rolloupe.index.execution import BackfillJob, ScanJob, perform
from pathlib import Path
(run,) = discover([Path(sys.argv[1])]).runs
(source,) = by_name(run.format).sources(run)
meta = perform(ScanJob(folder=sys.argv[2], run=run, source=source, part=0)).meta
behind = BackfillJob(folder=sys.argv[2], run=run, source=source, meta=meta, kinds=["texts", "derived"])
assert meta.rows == 260 and not perform(behind).error
print(next(int(line.split()[1]) // 1024 for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc: other figures count what the parent held")
def test_prompts_of_a_megabyte_take_bounded_memory(tmp_path: Path) -> None:
    run = shared(tmp_path / "run", 10, 26, 1_000_000)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(run), str(tmp_path / "index")], capture_output=True, check=True, timeout=120
    )
    assert int(done.stdout) < 600


def test_a_file_of_the_index_is_opened_whatever_its_folder_is_called(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"s3:\xff")
    place.mkdir()
    (place / "texts.parquet").write_bytes(parquet_of(pa.table({"prompt": ["?"]})))
    with parquet_file(place / "texts.parquet") as file:
        assert file.read().to_pydict() == {"prompt": ["?"]}
    with pytest.raises(FileNotFoundError), parquet_file(place / "none.parquet"):
        pass


def test_a_command_that_has_its_answer_looks_at_no_further_segment(tmp_path: Path) -> None:
    with opened(shared(tmp_path / "run", 1, 2, 50), tmp_path / "index") as library:
        (run,) = library.runs
        assert run.wait_all(30)
        (segment,) = run.snapshot().segments
        text_of(segment.path).unlink()
        backfill = Backfill(run.catalog, run.info, library.executor, library.budget, "texts")
        assert backfill.pending([segment], lambda: True) == []
        assert backfill.pending([segment], lambda: False) == [segment]
