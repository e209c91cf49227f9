"""Sources that overlap, and sources that are written again: what a run of archives is counted as."""

import shutil
from pathlib import Path

import pytest

import rolloupe
from rolloupe import SampleQuery
from tests.formats.test_telescope import RUN, changed


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The run, to be changed."""
    shutil.copytree(RUN, tmp_path / "run")
    return tmp_path / "run"


def test_samples_of_archives_that_overlap_are_counted_once(tmp_path: Path, copy: Path) -> None:
    with rolloupe.open(copy, index_dir=tmp_path / "index") as runs:
        run = runs[0]
        assert {split.name: split.samples for split in run.splits()} == {
            "train": 364, "eval/countdown": 36, "eval/countdown_after_training": 12, "eval/shop_agent": 12,
            "eval/shop_agent_after_training": 4,
        }  # fmt: skip
        item = next(iter(run.samples(SampleQuery(splits=("eval/countdown",)))))
        assert run.sample(str(item.key)).row.metrics == item.metrics


def test_an_archive_that_takes_over_samples_has_them_scanned_again(tmp_path: Path, copy: Path) -> None:
    changed(copy / "steps/block_live.zip", "samples_data", lambda old: old.slice(0, 100))
    shutil.rmtree(copy / "events")
    with rolloupe.open(copy, index_dir=tmp_path / "index") as runs:
        before = {str(item.key) for item in runs[0].samples(SampleQuery(splits=("train",)))}
    shutil.copy(RUN / "steps/block_live.zip", copy / "steps")
    with rolloupe.open(copy, index_dir=tmp_path / "index") as runs:
        after = [str(item.key) for item in runs[0].samples(SampleQuery(splits=("train",)))]
    assert len(after) == len(set(after)) == 172 and before <= set(after)
