"""TRL: completions of a real trainer, messages, columns that change, and files that an evaluation has overwritten."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rolloupe.demo import RUNS
from rolloupe.formats import by_name, discover
from rolloupe.model import Problem
from tests.formats.other_runs.databases import database
from tests.formats.reading.trackers.test_trackers import scalar
from tests.formats.support import items, only_run, rows, samples
from tests.formats.trackers.test_tensorboard import VERSION, text
from tests.formats.trackers.test_wandb import wandb_log

DATA = RUNS / "other_formats/trl"


def completions(folder: Path, step: int, prompts: str, **columns: Any) -> Path:
    """Write a file of completions, one for each letter that stands for a prompt."""
    path = folder / "completions" / f"completions_{step:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    count = len(prompts)
    table = {"step": [step] * count, "prompt": list(prompts), "completion": ["c"] * count} | columns
    pq.write_table(pa.table(table | {"advantage": [0.5] * count}), path)
    return path


@pytest.mark.parametrize("place", [DATA, DATA / "completions"])
def test_completions_of_a_real_trainer(place: Path) -> None:
    run = only_run(place)
    assert (run.format, run.name) == ("trl", "trl")
    assert "without weights" in run.reason and "inferred" in run.reason
    found = rows(run)
    assert Counter(Counter((row.step, row.group) for row in found).values()) == {8: 4}
    first = found[0]
    assert (first.reward, first.advantage) == (0.5, -0.7039818167686462)
    assert first.metrics == {"reward.accuracy_reward": 0.0, "reward.format_reward": 0.5}
    assert (first.tags, samples(run)[0].label) == ({"parsed": "5"}, "-5")
    assert found[1].reward == pytest.approx(0.42)
    sample = samples(run)[0]
    assert [turn.role for turn in sample.turns] == ["user", "assistant"]
    assert sample.notes == [
        "the reward is the sum of its parts without weights: the file holds neither a total nor weights"
    ]


def test_columns_change_between_files_and_messages_have_tool_calls(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    said = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": "4"}]
    completions(tmp_path, 1, "aa", r=[1.0, None], extra=[1, 2], score=[0.25, 0.5])
    completions(
        tmp_path, 2, "ab", prompt=[[{"role": "user", "content": text}] for text in "ab"], completion=[said, said],
        r=[1.0, 0.0], other=pa.array([None, None], pa.float64()), tag=["x", "y"],
    )  # fmt: skip
    found = rows(only_run(tmp_path))
    assert [row.reward for row in found] == [1.0, None, 1.0, 0.0]
    assert found[0].metrics == {"reward.r": 1.0, "extra": 1.0, "score": 0.25}
    calls = [part for turn in samples(only_run(tmp_path))[2].turns for part in turn.parts if part.call]
    assert [part.call.name for part in calls if part.call] == ["add"]
    assert [turn.role for turn in samples(only_run(tmp_path))[2].turns] == ["user", "assistant", "tool"]


def test_a_file_that_an_evaluation_overwrote_is_an_evaluation(tmp_path: Path) -> None:
    for step, prompts in enumerate(("aaaabbbb", "ccccdddd", "xxyy", "eeeeffff"), 1):
        completions(tmp_path, step, prompts, r=[1.0] * len(prompts))
    run = only_run(tmp_path)
    assert "1 of the files hold an evaluation" in run.reason
    assert {row.step for row in rows(run) if row.split == "eval/eval"} == {3}
    state = {"log_history": [{"step": 4, "eval_reward": 1.0}, {"step": 4, "reward": 0.5}, 3, {"eval_x": 1}]}
    (tmp_path / "trainer_state.json").write_text(json.dumps(state))
    run = only_run(tmp_path)
    assert {row.step for row in rows(run) if row.split == "eval/eval"} == {3, 4}
    assert rows(run)[0].split == "train"


def test_weights_come_from_weights_and_biases_in_the_folder(tmp_path: Path) -> None:
    completions(tmp_path, 1, "aa", r=[1.0, 0.0], q=[1.0, 1.0], length_share=[0.25, 0.5])
    for day, weights in (("20261101", [9.0, 9.0]), ("20261102", [1.0, 0.5])):
        log = tmp_path / f"wandb/offline-run-{day}_120000-a/run-a.wandb"
        log.parent.mkdir(parents=True)
        log.write_bytes(wandb_log({"reward_weights": weights, "loss_type": "dapo"}, []))
    run = only_run(tmp_path)
    found = rows(run)
    assert "sums by reward_weights" in run.reason and [row.reward for row in found] == [1.5, 0.5]
    assert found[0].metrics == {"reward.r": 1.0, "reward.q": 1.0, "length_share": 0.25}
    assert by_name("trl").config(run)["loss_type"] == "dapo"
    (tmp_path / "args.json").write_text('{"reward_weights": [2.0, 1.0]}')
    assert [row.reward for row in rows(only_run(tmp_path))] == [3.0, 1.0]


def settings_event(**settings: Any) -> bytes:
    """The settings as a trainer of Hugging Face models writes them to an event file."""
    return text("args/text_summary", 0, json.dumps({"loss_type": "dapo", "epsilon": 0.2} | settings, indent=2))


@pytest.mark.parametrize("opened", ["", "completions"])
def test_weights_come_from_the_settings_in_the_newest_event_file(tmp_path: Path, opened: str) -> None:
    completions(tmp_path, 1, "aab", r=[1.0, 2.0, None], s=[4.0, float("nan"), None], extra=[9.0, 9.0, 9.0])
    for folder, time, weights in (("Oct01_host", 5, [1.0, 0.5]), ("Apr01_host", 4, [9.0, 9.0])):
        log = tmp_path / f"runs/{folder}/events.out.tfevents.{time}.host.1.0"
        log.parent.mkdir(parents=True)
        log.write_bytes(VERSION + settings_event(reward_weights=weights) + scalar("train/loss", 1, 0.5, 1.0))
    run = only_run(tmp_path / opened)
    found = rows(run)
    assert "sums by reward_weights" in run.reason and [row.reward for row in found] == [3.0, 2.0, None]
    assert found[0].metrics == {"reward.r": 1.0, "reward.s": 4.0, "extra": 9.0}
    loss = by_name("trl").loss(run)
    assert loss is not None and loss.rule == "ppo" and by_name("trl").config(run)["reward_weights"] == [1.0, 0.5]
    assert "reward_weights of the configuration" in samples(run)[0].notes[0]


def test_metrics_name_the_reward_functions_and_what_an_environment_adds_counts_once(tmp_path: Path) -> None:
    completions(tmp_path, 1, "ab", r=[1.0, 2.0], Sums=[0.25, 0.5], extra=[9.0, 9.0])
    logged = b"".join(scalar(f"train/rewards/{name}/mean", 1, 0.5, 1.0) for name in ("r", "Sums"))
    log = tmp_path / "runs/a/events.out.tfevents.1.host"
    log.parent.mkdir(parents=True)
    log.write_bytes(VERSION + settings_event(reward_weights=[2.0]) + logged)
    assert [row.reward for row in rows(only_run(tmp_path))] == [2.25, 4.5]
    log.write_bytes(VERSION + settings_event(reward_weights=None) + logged)
    run = only_run(tmp_path)
    assert [row.reward for row in rows(run)] == [1.25, 2.5]
    assert samples(run)[0].notes == ["the reward is the sum of its parts: the configuration has no reward_weights"]
    log.unlink()
    assert rows(only_run(tmp_path))[0].reward == 10.25
    history = [{"step": 1, "rewards/r/mean": 1.5, "rewards/Sums/mean": 0.375}]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    found = rows(only_run(tmp_path))[0]
    assert (found.reward, found.metrics["extra"]) == (1.25, 9.0)


@pytest.mark.parametrize(("name", "others", "reward"), [("run", ["b"], 1.0), ("b", [], 1.0), ("c", ["b"], 2.0)])
def test_weights_of_trackio_count_where_the_database_is_of_this_run(
    tmp_path: Path, name: str, others: list[str], reward: float
) -> None:
    completions(tmp_path / "run", 1, "aa", r=[1.0, 0.0], q=[1.0, 1.0])
    logged: list[tuple[Any, ...]] = [(one, one, 1, "2026-11-28", '{"train/loss": 1}') for one in (name, *others)]
    configs: list[tuple[Any, ...]] = [(one, one, '{"reward_weights": [0.5, 0.5], "_x": 1}') for one in (name, *others)]
    database(
        tmp_path / "run/trackio/p.db",
        "CREATE TABLE metrics (run_id, run_name, step, timestamp, metrics);"
        "CREATE TABLE configs (run_id, run_name, config)",
        {"metrics": logged, "configs": configs},
    )
    assert rows(next(run for run in discover([tmp_path]).runs if run.format == "trl"))[0].reward == reward


@pytest.mark.parametrize("weights", ['[1.0, "x"]', "[1.0, NaN]", '"1.0"', "[]", "[[1.0]]"])
def test_weights_that_are_no_numbers_are_none(tmp_path: Path, weights: str) -> None:
    completions(tmp_path, 1, "aa", r=[1.0, 0.0], q=[1.0, 1.0])
    (tmp_path / "args.json").write_text(f'{{"reward_weights": {weights}}}')
    assert rows(only_run(tmp_path))[0].reward == 2.0 and samples(only_run(tmp_path))[0].notes


def test_a_list_of_numbers_is_no_step(tmp_path: Path) -> None:
    path = completions(tmp_path, 1, "ab")
    steps = pa.array([[1.0, 2.0]] * 2, pa.list_(pa.float64(), 2))
    pq.write_table(pq.read_table(path).set_column(0, "step", steps), path)
    assert [one.reason for one in items(only_run(tmp_path)) if isinstance(one, Problem)] == [
        f"row {row}: step [1.0, 2.0] is not an integer" for row in range(2)
    ]


def test_a_trainer_that_runs_has_its_history_in_the_newest_checkpoint(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        completions(tmp_path, step, "aabb", r=[1.0] * 4)
    for step in (2, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
        state = {"log_history": [{"step": step, "reward": 1.0}, {"step": step, "eval_reward": 1.0}]}
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(json.dumps(state))
    assert {row.step for row in rows(only_run(tmp_path)) if row.split == "eval/eval"} == {10}
    assert {row.step for row in rows(only_run(tmp_path / "completions")) if row.split == "eval/eval"} == {10}


def test_neighbours_with_one_prompt_are_no_evaluation_and_the_history_decides(tmp_path: Path) -> None:
    for step, prompts in enumerate(("aabb", "ccdd", "xxxx", "eee"), 1):
        completions(tmp_path, step, prompts, r=[1.0] * len(prompts))
    assert {row.step for row in rows(only_run(tmp_path)) if row.split == "eval/eval"} == {4}
    (tmp_path / "trainer_state.json").write_text(json.dumps({"log_history": [{"step": 4, "reward": 1.0}]}))
    assert {row.split for row in rows(only_run(tmp_path))} == {"train"}


def test_more_weights_than_reward_functions_do_not_count(tmp_path: Path) -> None:
    completions(tmp_path, 1, "aa", r=[1.0, 0.0])
    (tmp_path / "args.json").write_text('{"reward_weights": [3.0, 0.5]}')
    run = only_run(tmp_path)
    assert "more reward_weights than" in run.reason and [row.reward for row in rows(run)] == [1.0, 0.0]
    assert "more reward_weights than" in samples(run)[0].notes[0]


def test_the_state_and_the_configuration_beside_are_read(tmp_path: Path) -> None:
    completions(tmp_path, 1, "aa", r=[1.0, 0.0])
    (tmp_path / "args.json").write_text(
        json.dumps({"loss_type": "dapo", "epsilon": 0.2, "epsilon_high": 0.28, "beta": 0.1})
    )
    loss = by_name("trl").loss(only_run(tmp_path))
    assert loss is not None and (loss.rule, loss.kl_weight) == ("dapo", 0.1)


def test_half_a_file_is_a_problem_for_now(tmp_path: Path) -> None:
    completions(tmp_path, 1, "aa", r=[1.0, 0.0])
    half = completions(tmp_path, 2, "aa", r=[1.0, 0.0])
    half.write_bytes(half.read_bytes()[:300])
    found = items(only_run(tmp_path))
    assert len(found) == 3 and isinstance(found[-1], Problem) and found[-1].transient


@pytest.mark.parametrize(
    ("name", "text"),
    [("args.json", '{"reward_weights": [1.0, 0.5]}'), ("config.yaml", "reward_weights:\n- 1.0\n- 0.5\n")],
)
def test_the_weights_of_a_configuration_count_and_say_which_columns_are_rewards(
    tmp_path: Path, name: str, text: str
) -> None:
    completions(tmp_path, 1, "aab", r=[1.0, 2.0, None], s=[4.0, float("nan"), 2.0], extra=[9.0, 9.0, 9.0])
    run = only_run(tmp_path)
    before = by_name("trl").sources(run)
    assert [row.reward for row in rows(run)] == [14.0, 11.0, 11.0]
    (tmp_path / name).write_text(text)
    run = only_run(tmp_path)
    found = rows(run)
    assert by_name("trl").sources(run) != before and "by reward_weights" in run.reason
    assert [row.reward for row in found] == [3.0, 2.0, 1.0]
    assert found[0].metrics == {"reward.r": 1.0, "reward.s": 4.0, "extra": 9.0}
    assert samples(run)[0].notes == ["the reward is the sum of its parts by the reward_weights of the configuration"]
    assert rows(only_run(tmp_path / "completions"))[0].reward == 3.0


def test_files_under_other_names_are_taken_for_what_they_hold(tmp_path: Path) -> None:
    path = completions(tmp_path / "a", 3, "aabb", r=[1.0, 0.0, 1.0, 0.0])
    path.rename(tmp_path / "copy.parquet")
    assert [row.step for row in rows(only_run(tmp_path))] == [3, 3, 3, 3]
