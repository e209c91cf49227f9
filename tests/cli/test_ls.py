"""`rolloupe ls`."""

from pathlib import Path

from tests.cli.support import rolloupe, row, write_run


def test_json_has_for_each_split_what_there_is(run: Path) -> None:
    done = rolloupe("ls", run, "--json")
    assert (done.code, done.err) == (0, "")
    (found,) = done.json
    assert found["path"] == str(run / "rollout_result")
    assert (found["format"], found["problems"]) == ("relax", 0)
    assert found["splits"] == {
        "train": {
            "steps": 2, "groups": 4, "samples": 8, "reward_mean": 0.25, "reward_min": -1.0, "reward_max": 3.0,
        },
        "eval/gsm8k": {
            "steps": 1, "groups": 1, "samples": 2, "reward_mean": 0.5, "reward_min": 0.5, "reward_max": 0.5,
        },
    }  # fmt: skip


def test_rewards_that_are_no_numbers_are_left_out_of_the_mean(tmp_path: Path) -> None:
    rows = [row(0, reward=float("nan")), row(1, reward=None), row(2, reward=float("inf")), row(3, reward=2.0)]
    write_run(tmp_path, {0: rows[:3]}, "train")
    write_run(tmp_path, {0: rows}, "eval")
    train, evaluation = rolloupe("ls", tmp_path, "--json").json[0]["splits"].values()
    assert [train[f"reward_{name}"] for name in ("mean", "min", "max")] == [None, None, None]
    assert [evaluation[f"reward_{name}"] for name in ("mean", "min", "max")] == [2.0, 2.0, 2.0]


def test_many_runs_are_listed_with_their_problems(demo_runs: Path, hostile_run: Path) -> None:
    found = {one["id"]: one for one in rolloupe("ls", demo_runs, "--data-dir", hostile_run, "--json").json}
    assert len(found) == 6
    assert sorted(one["problems"] for one in found.values()) == [0, 0, 0, 0, 0, 1]


def test_the_table_has_every_run_and_split(demo_runs: Path) -> None:
    done = rolloupe("ls", demo_runs)
    assert done.code == 0
    for word in ("relax", "eval_poem_task", "1536", "eval/aime24", "-0.0864"):
        assert word in done.out


def test_nothing_found_says_why(tmp_path: Path) -> None:
    (tmp_path / "weights.pt").write_bytes(b"\x80\x02")
    done = rolloupe("ls", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "unpickles" in done.err
    listed = rolloupe("ls", tmp_path, "--json")
    assert (listed.code, listed.json) == (1, [])
