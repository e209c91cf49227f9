"""What is said of a sample after it was recorded, by annotations."""

import json
import math
from pathlib import Path

import pytest

from rolloupe.formats.reading import trainer_files
from tests.record.support import opened, recorder, series


def test_annotations_come_later_and_the_newest_counts(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g", token_ids=[1, 2, 3], series={"logprobs": [-1.0, -2.0]}) for _ in "abc"]
        record.step_end(0)
        record.annotate(uids[0], advantage=1.0, series={"trainer_logprobs": [-1.5, -2.5]})
        record.annotate(uids[0], advantage=2.0, metrics={"clip": 0.5})
        record.discard(uids[1], "stale")
        record.annotate(uids[1], discarded="")
        record.discard(uids[2], "zero_advantage")
    run = opened(tmp_path / "run")
    assert [(s.advantage, s.discarded) for s in run.samples()] == [(2.0, ""), (None, ""), (None, "zero_advantage")]
    sample = run.sample("train/0/g/0")
    assert sample.row.advantage == 2.0
    assert sample.row.metrics == {"logprobs": -1.5, "clip": 0.5, "trainer_logprobs": -2.0}
    assert [(one.name, list(one.values), one.offset) for one in sample.series] == [
        ("logprobs", [-1.0, -2.0], 1), ("trainer_logprobs", [-1.5, -2.5], 1),
    ]  # fmt: skip


def test_a_sample_is_read_with_its_own_annotations_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(3)]
        for uid in [*uids, *uids]:
            record.annotate(uid, tags={"own": uid}, metrics={"clip": 0.5})
    run = opened(tmp_path / "run")
    assert len(list(run.samples())) == 3
    monkeypatch.setattr(trainer_files, "records_about", lambda *_: pytest.fail("the file was searched"))
    for sample in [*(run.sample(f"train/0/g/{index}") for index in range(3)), *run.whole(0)]:
        assert sample.row.tags == {"own": sample.row.uid}


def test_where_annotations_moved_since_they_are_searched(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(2)]
        for uid in uids:
            record.annotate(uid, advantage=0.5)
    run = opened(tmp_path / "run")
    assert len(list(run.samples(where="advantage = 0.5"))) == 2
    file = tmp_path / "run/annotations/rank0.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)
    for data, found in (
        (second + first, [0.5, 0.5]), (b"{}\n" + second, [None, 0.5]), (first[:20], [None, None]), (None, [None, None]),
    ):  # fmt: skip
        file.write_bytes(data) if data is not None else file.unlink()
        assert [run.sample(f"train/0/g/{index}").row.advantage for index in range(2)] == found


def test_lists_go_by_the_means_of_annotated_series(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uids = [record.sample(step=0, group="g") for _ in range(3)]
        record.annotate(uids[0], series={"kl": [1, 3], "loss_mask": [1, 1]})
        record.annotate(uids[1], series={"kl": [5, 100, math.nan], "loss_mask": [1, 0, 1]})
    run = opened(tmp_path / "run")
    assert [s.metrics for s in run.samples(sort="kl", descending=True)] == [{"kl": 5.0}, {"kl": 2.0}, {}]


def test_a_mask_that_comes_later_counts_for_all(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        uid = record.sample(step=0, group="g", uid="ü", series={"logprobs": [-1, -2], "loss_mask": [0, 1]})
        record.annotate(uid, series={"loss_mask": [1, 1]}, advantage=2.0)
    sample = opened(tmp_path / "run").sample("train/0/g/0")
    assert (series(sample)["logprobs"], sample.row.advantage) == ([-1.0, -2.0], 2.0)


def test_annotations_of_nobody_are_a_problem_until_the_sample_comes(tmp_path: Path) -> None:
    with recorder(tmp_path / "run") as record:
        record.sample(step=0, group="g", uid="here")
        for uid in ("here", "typo", "typo", "later"):
            record.annotate(uid, advantage=1.0)
        record.flush()
        run = opened(tmp_path / "run")
        (problem,) = run.problems()
        assert (problem.source, run.problem_count()) == ("annotations/rank0.jsonl", 1)
        assert problem.reason.startswith("3 annotations of samples that are not in the run")
        assert json.loads(run.read(problem.source, problem.start or 0, problem.stop or 0))["uid"] == "typo"
        record.sample(step=0, group="g", uid="typo")
        record.sample(step=0, group="g", uid="later")
    assert opened(tmp_path / "run").problems() == []
