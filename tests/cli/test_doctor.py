"""`rolloupe doctor`."""

import gzip
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rolloupe._version import __version__
from rolloupe.cli.commands import doctor
from rolloupe.cli.commands.doctor import SHOWN, place, size
from rolloupe.model import Problem
from tests.cli.support import forked, main_of, rolloupe, row, write_run
from tests.forks import Fork
from tests.thoroughness import each

ANSWERS_WITHIN_S = 10


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the command time on a machine that does much else."""
    monkeypatch.setattr(doctor, "LIMIT_S", 120.0)


def test_it_says_what_is_read_and_why_and_what_is_not(
    demo_runs: Path, demo_index: Path, tmp_path: Path, patient: None
) -> None:
    (tmp_path / "rollout_0.pt").write_bytes(b"\x80\x02")
    done = rolloupe("doctor", demo_runs / "other_formats", tmp_path, "--index-dir", demo_index)
    assert (done.code, done.err) == (0, "")
    for word in ("Recognised: 6 runs", "rows have rollout_id and sample_index", "eval/aime24: 3 steps, 3 groups",
                 "no problems", "Not read: 1 place", "unpickles", str(demo_index), f"rolloupe {__version__}",
                 "duckdb"):  # fmt: skip
        assert word in done.out


@pytest.mark.slow
def test_it_says_by_what_evaluations_are_judged(demo_runs: Path, tmp_path: Path, patient: None) -> None:
    done = rolloupe(
        "doctor", demo_runs / "tiny_grpo", demo_runs / "other_formats/relax", "--index-dir", tmp_path / "index"
    )
    why = "correct if correct is 1 or more: its name means correctness, and the run declares its range"
    assert done.out.count(why) == 2
    assert done.out.count("correct if reward is 1 or more: no range of rewards is declared") == 2
    told = rolloupe("doctor", demo_runs / "tiny_grpo", "--index-dir", tmp_path / "index", "--json").json["runs"][0]
    assert {split: (one["metric"], one["bar"]) for split, one in told["evals"].items()} == {
        "eval/held_out": ("correct", 1), "eval/longer": ("correct", 1),
    }  # fmt: skip


def test_a_damaged_record_is_listed_with_file_bytes_and_reason(hostile_run: Path) -> None:
    done = rolloupe("doctor", hostile_run)
    source = (hostile_run / "rollout_result/train/0.jsonl").read_bytes()
    start, stop = source.rstrip(b"\n").rfind(b"\n") + 1, len(source) - 1
    assert "1 problem\n" in done.out
    assert f"train/0.jsonl:{start}-{stop}: not JSON" in done.out
    (problem,) = rolloupe("doctor", hostile_run, "--json").json["runs"][0]["problems"]
    assert (problem["file"], problem["start"], problem["stop"]) == ("train/0.jsonl", start, stop)


def test_many_problems_are_cut_and_counted_unless_all_are_asked_for(tmp_path: Path) -> None:
    folder = write_run(tmp_path, {0: [row(0)]})
    with (folder / "rollout_result/train/0.jsonl").open("a") as file:
        file.write("no json\n" * 30)
    done = rolloupe("doctor", folder)
    assert done.out.count("not JSON") == SHOWN
    assert "... and 10 more: --all" in done.out
    assert rolloupe("doctor", folder, "--all").out.count("not JSON") == 30
    assert len(rolloupe("doctor", folder, "--json").json["runs"][0]["problems"]) == 30


def test_nothing_recognised_is_exit_code_one(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"colour": "red"}\n')
    done = rolloupe("doctor", tmp_path)
    assert done.code == 1
    assert "Recognised: 0 runs" in done.out
    assert "keys: colour" in done.out
    answer = rolloupe("doctor", tmp_path, "--json")
    assert (answer.code, answer.json["runs"]) == (1, [])


@each("folder", ["verl", "skyrl", "areal", "verifiers"])
def test_files_of_other_tools(folder: str) -> None:
    place = f"generic/{folder}" if folder == "verl" else folder
    done = rolloupe("doctor", Path(__file__).parents[1] / "data" / place, "--json")
    assert done.code == 0
    assert [run["format"] for run in done.json["runs"]] == [folder]


def test_it_does_without_pandas_whose_threads_end_a_process_badly(tmp_path: Path) -> None:
    folder = write_run(tmp_path, {0: [row(0)]})
    code = "import sys; from rolloupe.cli import main; code = main(standalone_mode=False); "
    code += "assert 'pandas' not in sys.modules; sys.exit(code)"
    done = subprocess.run([sys.executable, "-c", code, "doctor", folder], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "") and "1 step" in done.stdout


def test_words_for_places_and_sizes() -> None:
    assert place(Problem(source="a", reason="")) == "a"
    assert place(Problem(source="a", reason="", start=3)) == "a:3"
    assert [size(n) for n in (0, 1536, 3 * 2**20, 5 * 2**40)] == ["0 bytes", "1.5 KiB", "3.0 MiB", "5120.0 GiB"]


def packed(path: Path, unit: bytes, size_bytes: int) -> None:
    """Write a packed file of one unit again and again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    good = gzip.compress(b'{"prompt": "p", "response": "r", "reward": 1.0, "step": 1}\n')
    path.write_bytes(good + gzip.compress(unit * (2**20 // len(unit))) * (size_bytes // 2**20))


def newlines(folder: Path) -> None:
    packed(folder / "run" / "1.jsonl.gz", b"\n", 2**30)


def short_lines(folder: Path) -> None:
    packed(folder / "run" / "1.jsonl.gz", b"[]\n", 2**30)


def many_lines(folder: Path, count: int = 2_000_000) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "1.jsonl").write_bytes(b'{"prompt": "p", "response": "r", "reward": 1.0}\n' * count)


def nothing_at_all(folder: Path) -> None:
    """A terabyte that takes no room."""
    (folder / "run").mkdir()
    with (folder / "run" / "1.jsonl").open("wb") as file:
        file.write(b'{"prompt": "p", "response": "r", "reward": 1.0, "step": 1}\n')
        file.truncate(2**40)


def many_folders(folder: Path) -> None:
    for number in range(15_000):
        (folder / f"{number % 100}" / f"{number}").mkdir(parents=True)
        (folder / f"{number % 100}" / f"{number}" / "notes.jsonl").write_bytes(b'{"colour": "red"}\n')


def many_files(folder: Path) -> None:
    for number in range(20_000):
        (folder / f"{number}.jsonl").write_bytes(b'{"colour": "red"}\n')


def pipes(folder: Path) -> None:
    for name in ("1.jsonl", "2.jsonl.gz", "3.zip", "metrics.jsonl"):
        os.mkfifo(folder / name)


SLOW = [
    pytest.param(make, marks=pytest.mark.slow)
    for make in (nothing_at_all, newlines, many_lines, short_lines, many_folders, many_files)
]


@pytest.mark.parametrize("make", [pipes, *SLOW])
def test_it_answers_within_ten_seconds_whatever_there_is(tmp_path: Path, make: Callable[[Path], None]) -> None:
    place = tmp_path / "place"
    place.mkdir()
    make(place)
    began = time.monotonic()
    process = forked("doctor", place, "--index-dir", tmp_path / "index")
    out, err = (written.decode() for written in process.communicate(10 * ANSWERS_WITHIN_S))
    took_s = time.monotonic() - began
    assert "Traceback" not in err
    assert "Recognised" in out
    assert (make is pipes) == ("a pipe, a socket or a device" in out)
    assert process.returncode in ((3,) if "not everything was looked at" in err else (0, 1))
    assert took_s <= ANSWERS_WITHIN_S


def test_what_was_not_looked_at_in_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many_lines(tmp_path, 400_000)
    monkeypatch.setattr(doctor, "INDEX_SHARE", 0.05)  # the rest is enough to ask a run, also on a busy machine
    done = rolloupe("doctor", tmp_path, "--index-dir", tmp_path / "index")
    assert done.code == 3
    assert "MiB of 18.3 MiB not looked at" in done.out
    assert "not everything was looked at within 5 s" in done.err
    assert "Next: rolloupe index PATH" in done.err
    told = rolloupe("doctor", tmp_path, "--index-dir", tmp_path / "index", "--json").json
    assert told["not_looked_at"]
    assert told["runs"][0]["not_looked_at_bytes"] > 0


def test_folders_that_were_not_looked_at_in_time_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path, {0: [row(0)]})
    monkeypatch.setattr(doctor, "LOOK_SHARE", 0.0)
    done = rolloupe("doctor", tmp_path, "--index-dir", tmp_path / "index")
    assert done.code == 3
    assert (
        "time was over: 1 folder and what is below were not looked at. Next: try again, or name a part of it"
        in done.out
    )


def hasty_main(*words: str) -> None:
    """Be the command line where questions take very long."""
    doctor.LIMIT_S = 1.5
    doctor.diagnosis_of = lambda run: time.sleep(90)  # type: ignore[pyrefly:bad-assignment]
    main_of(*words)


def test_runs_that_there_was_no_time_to_ask_are_named(tmp_path: Path) -> None:
    """In a process of its own, which must end well though a thread is still at work."""
    for name in ("one", "other"):
        write_run(tmp_path / "runs" / name, {0: [row(0)]})
    process = Fork(f"{__name__}:hasty_main", "doctor", str(tmp_path / "runs"), "--index-dir", str(tmp_path / "index"))
    out, err = (written.decode() for written in process.communicate(50))
    assert process.returncode == 3, err
    assert "Recognised in time: 2 runs" in out
    assert out.count("not looked at: time was over") == 2
    assert "time was over while asking" in err
    assert "2 runs left" in err
