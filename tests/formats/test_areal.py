"""AReaL: a folder a weight version, a file a task, appended line by line."""

import gzip
import shutil
from collections import Counter
from pathlib import Path

import pytest

from rolloupe.model import Problem
from tests.formats.support import items, only_run, rows, samples

DATA = Path(__file__).parents[1] / "data" / "areal"


@pytest.mark.parametrize("place", [DATA, DATA / "rollout"])
def test_steps_are_weight_versions_and_groups_are_tasks(place: Path) -> None:
    run = only_run(place)
    found = rows(run)
    assert (run.format, run.name) == ("areal", "areal")
    assert Counter((row.split, row.step, row.group) for row in found) == {
        ("train", 0, "0"): 4, ("train", 0, "1"): 4, ("train", 1, "4"): 4,
    }  # fmt: skip
    assert (found[0].prompt_tokens, found[0].response_tokens, found[0].total_tokens) == (15, 29, 44)
    assert found[0].metrics == {"sample_idx": 0.0, "head_version": -1.0}
    assert [turn.role for turn in samples(run)[0].turns] == ["user", "assistant"]


def test_evaluations_of_a_trial_are_a_split_of_its_run(tmp_path: Path) -> None:
    shutil.copytree(DATA / "rollout", tmp_path / "trial" / "rollout")
    shutil.copytree(DATA / "rollout" / "1", tmp_path / "trial" / "eval-rollout" / "1")
    run = only_run(tmp_path / "trial")
    assert Counter(row.split for row in rows(run)) == {"train": 12, "eval/rollout": 4}


def test_the_version_is_read_from_lines_without_their_folders(tmp_path: Path) -> None:
    data = (DATA / "rollout" / "1" / "4.jsonl").read_bytes()
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "4.jsonl.gz").write_bytes(gzip.compress(data))
    assert {row.step for row in rows(only_run(tmp_path / "x"))} == {1}
    (tmp_path / "y.jsonl").write_bytes(data[:-20])
    found = items(only_run(tmp_path / "y.jsonl"))
    assert len(found) == 4 and isinstance(found[-1], Problem) and found[-1].transient
