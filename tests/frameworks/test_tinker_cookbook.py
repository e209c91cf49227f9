"""The Tinker cookbook: its logger, its rollouts, its own loop, and its own readers of what we write."""

import asyncio
import importlib
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe.record import Recorder
from rolloupe.record.writers import tinker
from tests.frameworks.support import blocks, needs, opened, series
from tests.record.writers.test_tinker import Group, log_in

needs("tinker_cookbook")
EnvGroupBuilder: Any = needs("tinker_cookbook.rl.types").EnvGroupBuilder

OWN, MAIN = blocks("Tinker cookbook")


def recording(record: Recorder, told: dict[str, Any], **more: Any) -> Any:
    from rolloupe.record.integrations.tinker_cookbook import Recording

    return Recording(record, decode=told["decode"], **more)


def example() -> dict[str, Any]:
    """What the first block of the page defines, without its loop."""
    module = sys.modules["example_of_the_cookbook"] = ModuleType("example_of_the_cookbook")  # chz looks it up
    exec(OWN.partition("\nasync def train")[0], module.__dict__)
    return module.__dict__


def groups_of(told: dict[str, Any], builders: Any, **options: Any) -> list[Any]:
    from tinker_cookbook.rl.rollouts import do_group_rollout

    async def all_of() -> list[Any]:
        return await asyncio.gather(*(do_group_rollout(builder, told["Guess"](), **options) for builder in builders))

    return asyncio.run(all_of())


def test_a_loop_of_one_s_own_is_recorded(tmp_path: Path) -> None:
    exec(OWN, {"__name__": "__main__"})
    run = opened(tmp_path / "runs/cookbook")
    assert [(step.step, step.samples) for step in run.steps()] == [(step, 12) for step in range(3)]
    theirs = [json.loads(line) for line in (tmp_path / "logs/cookbook/metrics.jsonl").read_text().splitlines()]
    assert [point.value for point in run.metrics("reward/mean")] == [row["reward/mean"] for row in theirs]
    assert [step.reward.mean for step in run.steps()] == pytest.approx([row["reward/mean"] for row in theirs])
    assert run.config == {"policy": "__main__.Guess"}
    sample = run.sample("train/1/2/3")
    row = sample.row
    assert [part.text for part in sample.turns[0].parts] == ["1+2="]
    assert (sample.label, row.prompt_tokens, row.response_tokens, row.status) == ("3", 4, 2, "completed")
    assert (row.tags, row.metrics["correct"], row.reward) == ({"sums": "sums"}, row.reward, row.reward)
    found = series(sample)
    assert found["loss_mask"] == [0.0] * 4 + [1.0] * 2
    assert found["logprobs"][4:] == pytest.approx([np.log(0.1), 0.0])
    group = [one.reward or 0.0 for one in run.samples(step=1) if one.key.group == "2"]
    assert row.advantage == pytest.approx(float(row.reward or 0) - float(np.mean(group)))


def test_the_cookbook_s_own_loop_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tinker as sdk
    from tinker_cookbook.rl import train as rl
    from tinker_cookbook.utils import ml_log

    from tests.frameworks import service

    monkeypatch.setattr(sdk, "ServiceClient", service.ServiceClient)
    monkeypatch.setattr(rl, "get_tokenizer", lambda _: service.Tokenizer())
    former = ml_log.setup_logging
    exec(MAIN, example())
    assert ml_log.setup_logging is former
    ours, theirs = opened(tmp_path / "runs/main"), opened(tmp_path / "logs/main")
    for split in ("train", "eval/test"):
        told = {step.step: (step.samples, step.reward.mean) for step in theirs.steps(told_split(theirs, split))}
        assert {step.step: (step.samples, step.reward.mean) for step in ours.steps(split)} == told
    for step in range(3):
        here = {(one.key.group, one.key.index): one.reward for one in ours.samples(step=step, split="train")}
        there = {(one.key.group, one.key.index): one.reward for one in theirs.samples(step=step, split="train")}
        assert here == there
    assert set(theirs.metric_names()) <= set(ours.metric_names())
    for name in ("env/all/reward/total", "optim/kl_sample_train_v1", "optim/norm", "progress/done_frac"):
        assert [(one.step, one.value) for one in ours.metrics(name)] == [
            (one.step, one.value) for one in theirs.metrics(name)
        ]
    assert ours.config["model_name"] == "Qwen/Qwen3-8B"
    assert series(ours.sample("train/0/0/0"))["logprobs"][4:] == pytest.approx([-np.log(10), 0.0])


def told_split(run: rolloupe.Run, split: str) -> str:
    (only,) = [one.name for one in run.splits() if one.name.partition("/")[0] == split.partition("/")[0]]
    return only


def test_rollouts_that_fail_are_errors_and_end_as_they_did(tmp_path: Path) -> None:
    from tinker_cookbook.rl.rollout_strategy import RetryOnFailure

    told = example()
    one_sum: Any = told["Sum"]
    sums: Any = told["SumGroup"]

    class Breaks(one_sum):
        async def step(self, action: Any, *, extra: Any = None) -> Any:
            raise RuntimeError("the sandbox is gone")

    class OnceBroken(sums):
        made = 0

        async def make_envs(self) -> Any:
            type(self).made += 1
            envs = await super().make_envs()
            return [Breaks(self.question, self.answer), *envs[1:]] if type(self).made == 1 else envs

    with Recorder(tmp_path / "run", code=None, strict=True) as record:
        hook = recording(record, told)
        retry = hook.strategy(RetryOnFailure(max_retries=2))
        assert retry.catches_group_errors is True
        groups_of(told, hook.batch([OnceBroken(1, 2)], "train", 0), strategy=retry)
        OnceBroken.made = 0
        with pytest.raises(RuntimeError, match="sandbox"):
            groups_of(told, hook.batch([OnceBroken(1, 2)], "train", 1), strategy=hook.strategy())
    run = opened(tmp_path / "run")
    assert [(step.step, step.samples) for step in run.steps()] == [(0, 5), (1, 1)]
    failed = run.sample("train/0/0/error-0")
    assert (failed.row.status, failed.row.discarded) == ("error", "error")
    assert "sandbox is gone" in str(failed.extra)
    assert "Traceback" in str(run.sample("train/1/0/error-0").extra)


def test_what_goes_wrong_in_a_hook_does_not_reach_a_rollout(tmp_path: Path) -> None:
    from rolloupe.record import RecorderWarning

    told = example()
    record = Recorder(tmp_path / "run", code=None)
    hook = recording(record, told, about=lambda builder: {"label": builder.nothing})
    with pytest.warns(RecorderWarning, match="nothing"):
        (group,) = groups_of(told, hook.batch([told["SumGroup"](1, 2)], "train", 0))
    assert len(group.trajectories_G) == 4
    assert sum(record.failures.values()) == 1
    record.close()


def test_evaluations_have_the_step_under_way_and_groups_of_their_own(tmp_path: Path) -> None:
    told = example()
    with Recorder(tmp_path / "run", code=None, strict=True) as record:
        hook = recording(record, told, step=5)
        test = hook.dataset(told["Sums"](), "eval/test")
        builders = [builder for index in range(len(test)) for builder in test.get_batch(index)]
        groups_of(told, builders)
        hook.logger().log_metrics({"a": 1.0}, step=5)
        groups_of(told, builders)
        hook.dataset(told["Sums"]()).get_batch(2)  # a loader that reads ahead, or behind, changes nothing
        groups_of(told, builders[:1])  # once more, as other attempts
    run = opened(tmp_path / "run")
    assert [(step.step, step.samples) for step in run.steps("eval/test")] == [(5, 36), (6, 40)]
    assert builders[4].question == "1+1="


class Sums(EnvGroupBuilder):
    """A group that another process can be sent."""

    async def make_envs(self) -> Any:
        told = example()
        return [told["Sum"]("1+1=", "2") for _ in range(2)]

    async def compute_group_rewards(self, trajectory_group: Any, env_group: Any) -> Any:
        return [(0.5, {"graded": 1.0}) for _ in trajectory_group]


def test_groups_that_go_to_other_processes_are_recorded_there(tmp_path: Path) -> None:
    from tinker_cookbook.rl.rollouts import do_group_rollout_and_filter_constant_reward, set_rollout_executor

    from tests.frameworks import service

    def rollout(builder: Any) -> Any:
        return do_group_rollout_and_filter_constant_reward(
            service.SamplingClient(), builder, max_tokens=4, temperature=1.0, do_remove_constant_reward_groups=False
        )

    async def all_of(builders: Any, executor: Any) -> list[Any]:
        set_rollout_executor(executor)
        return await asyncio.gather(*map(rollout, builders))

    with (
        Recorder(tmp_path / "run", code=None, strict=True) as record,
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor,
    ):
        builders = recording(record, {"decode": str}, step=3).batch([Sums()] * 3, "eval/far", 0)
        groups = asyncio.run(all_of(builders, executor))
        run = opened(tmp_path / "run")  # what a process has sent back stands
        assert [(step.step, step.samples) for step in run.steps("eval/far")] == [(3, 6)]
    assert [group.get_total_rewards() for group in groups] == [
        [one.reward for one in run.samples(split="eval/far", group=f"0.{number}")] for number in range(3)
    ]
    assert len(list((tmp_path / "run/samples").iterdir())) == 2


# The files


def test_records_of_rollouts_are_the_cookbook_s(tmp_path: Path) -> None:
    from tinker_cookbook.rl.rollout_logging import serialize_rollout_summaries
    from tinker_cookbook.stores.storage import LocalStorage
    from tinker_cookbook.stores.training_store import TrainingRunStore

    told = example()
    groups = groups_of(told, told["Sums"]().get_batch(0))
    given: dict[str, Any] = {
        "split": "train", "iteration": 0, "trajectory_groups_P": groups, "taglist_P": [["a"]] * len(groups),
        "sampling_client_steps_P": [0] * len(groups),
    }  # fmt: skip
    records = tinker.serialize_rollout_summaries(**given)
    assert {record.pop("stop_reason") for record in records} == {"completed"}  # more than the cookbook writes
    assert records == serialize_rollout_summaries(**given)
    TrainingRunStore(LocalStorage(tmp_path / "theirs")).write_rollouts(0, records)
    log_in(tmp_path / "ours", layout="folders").records("train", 0, records)
    name = "iteration_000000/train_rollout_summaries.jsonl"
    assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_metrics_and_configuration_are_those_of_its_logger(tmp_path: Path) -> None:
    from tinker_cookbook.utils.ml_log import JsonLogger

    theirs, ours = JsonLogger(tmp_path / "theirs"), log_in(tmp_path / "ours")
    config = {"lr": 1e-4, "name": "é", "layers": [1, 2], "nothing": None}
    theirs.log_hparams(config)
    ours.config(config)
    rows: list[tuple[int | None, dict[str, Any]]] = [
        (0, {"a": 0.1, "b": float("nan")}),
        (None, {"c": 1}),
        (7, {"é": -0.0}),
    ]
    for step, values in rows:
        theirs.log_metrics(values, step)
        ours.metrics(step, values)
    for name in ("metrics.jsonl", "config.json"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_the_cookbook_s_store_reads_it(tmp_path: Path) -> None:
    stores = "tinker_cookbook.stores"
    training, registry, storage = (
        importlib.import_module(f"{stores}.{name}") for name in ("training_store", "registry", "storage")
    )
    log = log_in(tmp_path / "run", config={"lr": 1.0}, layout="folders")
    for step in range(2):
        with log.trace("train", step):
            log.rollouts("train", step, [Group(1.0, 0.0, messages=True)])
        with log.trace("eval/a b", step):
            log.rollouts("eval/a b", step, [Group(0.5)])
        log.metrics(step, {"env/all/reward/total": np.float32(0.5)})
    log.checkpoint("000002", batch=2, state_path="tinker://x", custom=1)
    store = training.TrainingRunStore(storage.LocalStorage(tmp_path / "run"))
    assert store.read_config() == {"lr": 1.0}
    assert [row["step"] for row in store.read_metrics()] == [0, 1]
    assert [(one.iteration, one.has_train_rollouts, one.has_train_logtree, one.eval_labels)
            for one in store.list_iterations()] == [(0, True, True, ["a_b"]), (1, True, True, ["a_b"])]  # fmt: skip
    assert [one["total_reward"] for one in store.read_rollouts(1)] == [1.0, 0.0]
    found = store.read_single_rollout(1, 0, 0, base_name="eval_a_b")
    assert found is not None and found["split"] == "eval/a_b"
    assert store.list_logtrees(1) == ["eval_a_b", "train"]
    tree = store.read_logtree(1)
    assert tree is not None and tree["title"] == "RL Iteration 1"
    assert [one["name"] for one in store.read_checkpoints()] == ["000002"]
    (run,) = registry.RunRegistry([storage.LocalStorage(tmp_path)]).get_runs()
    assert (run.iteration_count, run.has_config, run.has_metrics, run.has_checkpoints) == (2, True, True, True)
    before = (tmp_path / "run/metrics.jsonl").read_bytes()
    if hasattr(store, "truncate_metrics"):  # from release 0.6
        assert store.truncate_metrics(1) == 1
        theirs = (tmp_path / "run/metrics.jsonl").read_bytes()
        (tmp_path / "run/metrics.jsonl").write_bytes(before)
        assert log.resume(1) == 1
        assert (tmp_path / "run/metrics.jsonl").read_bytes() == theirs
