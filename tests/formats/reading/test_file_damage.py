"""What lies beside samples: what of it cannot be read is told, with its place, and hides nothing."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import rolloupe
from rolloupe.formats.reading import trainer_files
from rolloupe.formats.reading.line_reader import NOT_NAMED
from rolloupe.model import Problem, Source
from tests.formats.support import write

ROW = {"group_idx": 0, "traj_idx": 0, "total_reward": 1.0, "steps": []}
Make = Callable[[Path, bytes, bytes], Path]
NAMES = ("metrics.jsonl", "checkpoints.jsonl", "config.json")


def tinker(folder: Path, lines: bytes, document: bytes) -> Path:
    """A run of the cookbook with some metrics, checkpoints and a configuration."""
    write(folder / "iteration_000000/train_rollout_summaries.jsonl", ROW)
    for name in NAMES:
        (folder / name).write_bytes(document if name.endswith(".json") else lines)
    return folder


def native(folder: Path, lines: bytes, document: bytes) -> Path:
    """A recorded run that holds the same."""
    with rolloupe.Recorder(folder, code=None, config={}) as record:
        record.sample(step=0, reward=1.0)
    (folder / "metrics").mkdir()
    for name in NAMES:
        place = folder / ("metrics/rank0.jsonl" if name == "metrics.jsonl" else name)
        place.write_bytes(document if name.endswith(".json") else lines)
    return folder


@pytest.mark.parametrize("make", [tinker, native])
def test_damage_in_what_lies_beside_samples_is_a_problem(make: Make, tmp_path: Path) -> None:
    lines = b'{"step": 0, "values": {"a": 1}, "a": 1}\n{bad\n\n[]\n{"step": 2, "values": {"a": 3}, "a": 3}\n{"torn": '
    with rolloupe.open(make(tmp_path / "run", lines, b'{"a": 1,'), index_dir=tmp_path / "index") as runs:
        run = runs[0]
        found = {(Path(one.source).stem, one.start, one.stop, one.reason.partition(":")[0]) for one in run.problems()}
        assert [point.value for point in run.metrics("a")] == [1, 3]
        assert (run.config, len(run.problems())) == ({}, run.problem_count())
        (place,) = [one for one in run.problems() if "metrics" in one.source and one.start == lines.index(b"{bad")]
        assert run.read(place.source, place.start or 0, place.stop or 0) == b"{bad"
        assert all(one.transient for one in run.problems())
    metrics, bad, array = "metrics" if make is tinker else "rank0", lines.index(b"{bad"), lines.index(b"[]")
    assert found == {
        *((name, bad, bad + 4, "not JSON") for name in (metrics, "checkpoints")),
        *((name, array, array + 2, "not a JSON object but an array") for name in (metrics, "checkpoints")),
        ("config", 0, 8, "not JSON"),
    }


@pytest.mark.parametrize("make", [tinker, native])
def test_what_is_whole_or_being_written_is_no_problem(make: Make, tmp_path: Path) -> None:
    lines = b'\xef\xbb\xbf{"step": 0, "a": NaN}\r\n\n{"step": 1, "a": 1}\n{"step": 2, "a'
    with rolloupe.open(make(tmp_path / "run", lines, b'\xef\xbb\xbf{"a": NaN}'), index_dir=tmp_path / "index") as runs:
        assert (runs[0].problems(), list(runs[0].config)) == ([], ["a"])


def damage(path: Path) -> list[Problem]:
    return trainer_files.damage(Source(path=str(path), name=path.name))


def test_what_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert damage(path) == []
    path.write_bytes(b"{bad\n")
    assert [one.start for one in damage(path)] == [0]
    path.write_bytes(b'{"a": 1}\n{bad\n')
    assert [one.start for one in damage(path)] == [9]


def test_a_file_of_nothing_but_damage_is_told_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"x\n" * 100_000)
    found = damage(path)
    assert len(found) == trainer_files.MAX_LISTED + 1
    assert "the others are not listed" in found[-1].reason


def test_a_compressed_file_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"step": 0, "a": 1}\n' * 1000)[:-20])
    (problem,) = damage(path)
    assert "of the compressed file; no line behind it is read" in problem.reason


def test_a_file_that_git_lfs_did_not_fetch_says_so(tmp_path: Path) -> None:
    for name in ("config.json", "metrics.jsonl"):
        (tmp_path / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n")
        assert "git lfs pull" in damage(tmp_path / name)[0].reason


def test_a_compressed_file_under_a_plain_name_says_so(tmp_path: Path) -> None:
    for name in ("config.json", "metrics.jsonl"):
        (tmp_path / name).write_bytes(gzip.compress(b'{"step": 0, "a": 1}\n' * 9))
        assert [one.reason for one in damage(tmp_path / name)] == [NOT_NAMED.format("gzip", ".gz")]


def test_what_lies_behind_the_bound_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer_files, "MAX_BYTES", 2**20)
    path = write(tmp_path / "metrics.jsonl", *({"step": step, "note": "x" * 200} for step in range(6_000)))
    (problem,) = damage(path)
    assert (problem.start, problem.reason) == (2**20, "longer than 1 MiB: what is behind them is not read")


def test_what_recorders_let_go_of_is_summed_over_processes(tmp_path: Path) -> None:
    run = native(tmp_path / "run", b"", b"{}")
    counted = ({"values": {"recorder/token_series_dropped": count}} for count in (3, 5, 2, 2, "bad"))
    write(run / "metrics/rank0.jsonl", *counted, {"values": {"loss": 1.0}})
    with rolloupe.open(run, index_dir=tmp_path / "index") as runs:
        (problem,) = runs[0].problems()
        assert (problem.source, problem.reason.partition(" were")[0]) == ("metrics/rank0.jsonl", "7 token series")
