"""Runs in an object store are read as they are on a disk: by every format, by every face."""

import os
from pathlib import Path

import pytest

import rolloupe
from rolloupe.api import Runs
from rolloupe.demo import RUNS
from tests.cli.support import rolloupe as command
from tests.storage.remote.s3 import Bucket

OTHERS = Path(RUNS) / "other_formats"
RELAX = OTHERS / "relax"
SMALL = ("relax", "rl_logging_board", "trackio", "trl", "verl_math")
"""Bundled runs as lines, compressed lines, a database of SQLite and Parquet."""


def facts(runs: Runs) -> dict[str, object]:
    """All that the index has of each run, and some samples whole."""
    found: dict[str, object] = {}
    for run in runs:
        splits = [(one.name, one.steps, one.samples, one.reward) for one in run.splits()]
        ids = [one.id for one in run.samples(limit=3)]
        texts = [(run.sample(one).turns, run.sample(one).prompt_text) for one in ids]
        found[run.id] = (run.format, splits, ids, texts, run.metric_names(), [one.reason for one in run.problems()])
    return found


@pytest.mark.parametrize("name", SMALL)
def test_every_kind_of_file_is_read_as_on_a_disk(bucket: Bucket, tmp_path: Path, demo_index: Path, name: str) -> None:
    bucket.upload(OTHERS / name, f"runs/{name}")
    with rolloupe.open(OTHERS / name, index_dir=demo_index) as local:
        expected = facts(local)
        paths = {run.id: os.path.relpath(run.path, OTHERS) for run in local}
    with rolloupe.open(f"{bucket.url}/runs/{name}", index_dir=tmp_path / "remote") as remote:
        assert facts(remote) == expected
        assert {run.id: run.path for run in remote} == {run: f"{bucket.url}/runs/{path}" for run, path in paths.items()}


def test_commands_take_an_address(bucket: Bucket, tmp_path: Path) -> None:
    bucket.upload(RELAX, "runs/relax")
    place, index = f"{bucket.url}/runs", ("--index-dir", tmp_path / "index")
    listed = command("ls", place, "--json", *index)
    assert [run["path"] for run in listed.json] == [f"{place}/relax/rollout_result"]
    assert [run["splits"]["train"]["samples"] for run in listed.json] == [48]
    assert "relax" in command("index", place, *index).out
    queried = command("query", f"{place}/relax", "--limit", "1", "--json", *index)
    assert queried.code == 0 and queried.lines[0]["id"].startswith("train/")
    shown = command("show", f"{place}/relax", queried.lines[0]["id"], *index)
    assert shown.code == 0 and shown.out
    one_file = command("ls", f"{place}/relax/rollout_result/train/0.jsonl", "--json", *index)
    assert [run["splits"]["train"]["samples"] for run in one_file.json] == [16]
    assert command("doctor", place, "--json", *index).json["runs"][0]["path"] == f"{place}/relax/rollout_result"


def test_names_of_objects_are_taken_as_they_are(bucket: Bucket, tmp_path: Path) -> None:
    line = b'{"prompt": "p", "response": "r", "reward": 1.0, "step": 1}\n'
    names = ["a b.jsonl", "x#1.jsonl", "eval%2Faime.jsonl", "ü~[1]?.jsonl", "plus+&=.jsonl"]
    for name in names:
        bucket.put(f"odd names/{name}", line)
    bucket.put("odd names/", b"")  # what some tools make for a folder
    with rolloupe.open(f"{bucket.url}/odd names", index_dir=tmp_path) as runs:
        (run,) = runs
        assert sum(split.samples for split in run.splits()) == len(names)
        assert {run.sample(one.id).response_text for one in run.samples(limit=10)} == {"r"}
