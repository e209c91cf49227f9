"""`rolloupe doctor`."""

from pathlib import Path

import pytest

from rolloupe._version import __version__
from rolloupe.cli.doctor import SHOWN, place, size
from rolloupe.model import Problem
from tests.cli.support import rolloupe, row, write_run


def test_it_says_what_is_read_and_why_and_what_is_not(demo_runs: Path, tmp_path: Path) -> None:
    (tmp_path / "rollout_0.pt").write_bytes(b"\x80\x02")
    done = rolloupe("doctor", demo_runs, tmp_path, "--index-dir", tmp_path / "index")
    assert (done.code, done.err) == (0, "")
    for word in ("Recognised: 5 runs", "rows have rollout_id and sample_index", "eval/aime24: 3 steps, 3 groups",
                 "no problems", "Not read: 1 place", "unpickles", str(tmp_path / "index"), f"rolloupe {__version__}",
                 "duckdb"):  # fmt: skip
        assert word in done.out


def test_it_says_by_what_evaluations_are_judged(demo_runs: Path, tmp_path: Path) -> None:
    done = rolloupe("doctor", demo_runs / "tiny_grpo", demo_runs / "relax", "--index-dir", tmp_path / "index")
    why = "right where correct is 1 or more: named for right answers, its range is declared"
    assert done.out.count(why) == 2
    assert done.out.count("right where reward is 1 or more: no range of rewards is declared") == 2
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


@pytest.mark.parametrize("folder", ["generic/verl", "generic/skyrl", "generic/areal", "generic/verifiers"])
def test_files_of_other_tools(folder: str) -> None:
    done = rolloupe("doctor", Path(__file__).parents[1] / "data" / folder, "--json")
    assert done.code == 0
    assert [run["format"] for run in done.json["runs"]] == ["generic"]


def test_words_for_places_and_sizes() -> None:
    assert place(Problem(source="a", reason="")) == "a"
    assert place(Problem(source="a", reason="", start=3)) == "a:3"
    assert [size(n) for n in (0, 1536, 3 * 2**20, 5 * 2**40)] == ["0 bytes", "1.5 KiB", "3.0 MiB", "5120.0 GiB"]
