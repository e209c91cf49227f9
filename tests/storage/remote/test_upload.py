"""A recorder that sends its run to a bucket."""

import os
import signal
import subprocess
import warnings
from pathlib import Path

import pytest

import rolloupe
from rolloupe import Recorder
from rolloupe.record import RecorderWarning, upload
from rolloupe.record.upload.delivery import Delivery, files_in, target_of
from tests.storage.remote.s3 import Bucket


def record(run: Path, upload: str, steps: range) -> Recorder:
    with Recorder(run, code=None, upload=upload) as recorder:
        for step in steps:
            for index in range(4):
                response = "r" * 1000
                recorder.sample(step=step, group=0, index=index, response=response, series={"logprobs": [-1.0] * 9})
            recorder.step_end(step)
    return recorder


def test_a_run_is_read_from_the_bucket_that_it_was_sent_to(bucket: Bucket, tmp_path: Path) -> None:
    address = f"{bucket.url}/runs/first"
    record(tmp_path / "run", address, range(2))
    record(tmp_path / "run", address, range(2, 3))
    assert [*Delivery(tmp_path / "run", target_of(address, tmp_path / "run")).waiting()] == ["rolloupe.json"]
    with rolloupe.open(address, index_dir=tmp_path / "index") as runs:
        run = runs.only()
        assert [step.samples for step in run.steps()] == [4, 4, 4] and not run.problems()
        assert run.tokens("train/2/0/3").series["logprobs"].tolist() == [-1.0] * 9


def test_large_files_go_in_parts(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/large").write_bytes(bytes(range(256)) * 2**17)
    target = target_of(f"{bucket.url}/large", tmp_path / "run")
    target.put("large", tmp_path / "run/large", 2**25 - 1)
    assert target.known()["large"] == 2**25 - 1


def test_a_bucket_that_is_not_there_is_said_and_costs_the_run_nothing(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, started = upload.start, list["subprocess.Popen[bytes]"]()

    def starting(folder: Path, target: str) -> "subprocess.Popen[bytes]":
        started.append(start(folder, target))
        return started[-1]

    monkeypatch.setattr(upload, "start", starting)
    monkeypatch.setattr(upload, "WAIT_S", 0.01)
    with (
        warnings.catch_warnings(record=True, action="always") as told,
        Recorder(tmp_path / "run", code=None, upload="s3://nowhere-at-all/first") as recorder,
    ):
        recorder.sample(step=0, prompt="p", response="r", reward=1.0)
        while not told:
            recorder.flush()
    os.kill(started[0].pid, signal.SIGKILL)
    said = "\n".join(str(one.message) for one in told if one.category is RecorderWarning)
    assert "not uploaded yet to s3://nowhere-at-all/first: the run" in said and "does not exist" in said
    assert files_in(tmp_path / "run")
