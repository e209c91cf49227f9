"""TRL really trains on the CPU, and what it had in its hands is what a run reads back."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rolloupe
from rolloupe.record import Recorder, RecorderWarning
from tests.frameworks.support import blocks, needs, opened, run_ranks, series

torch = needs("torch")
trl = needs("trl")

(CODE,) = blocks("TRL")
SERIES = {"ref_per_token_logps": "ref_logprobs", "old_per_token_logps": "old_logprobs"}


def example(model: str = "tiny-model") -> dict[str, Any]:
    """What the example of the page defines, its model made, without its training."""
    told: dict[str, Any] = {"__name__": "example"}
    exec(CODE.partition("\nconfig = ")[0].replace("tiny-model", model), told)
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = str(tmp_path_factory.mktemp("model"))
    return {**example(folder), "model": folder}


class Spy:
    """Stands between the mixin and the trainer, and keeps what the trainer had in its hands."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.batches: list[dict[str, Any]] = []
        super().__init__(*args, **kwargs)

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
        rewards = super()._calculate_rewards(inputs, prompts, completions, ids)  # type: ignore[pyrefly:missing-attribute]
        self.batches.append({"inputs": inputs, "prompts": prompts, "completions": completions, "ids": ids})
        self.batches[-1]["rewards"] = rewards.clone()
        return rewards

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)  # type: ignore[pyrefly:missing-attribute]
        held = {name: value.clone() for name, value in output.items() if isinstance(value, torch.Tensor)}
        mode = "train" if self.model.training else "eval"  # type: ignore[pyrefly:missing-attribute]
        self.batches[-1] |= {**held, "mode": mode, "step": self.state.global_step}  # type: ignore[pyrefly:missing-attribute]
        return output


def config_of(**more: Any) -> Any:
    settings = {
        "max_steps": 3, "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2, "num_generations": 4,
        "max_completion_length": 8, "logging_steps": 1, "save_strategy": "no", "use_cpu": True, "bf16": False,
        "report_to": "none", "disable_tqdm": True,
    }  # fmt: skip
    return trl.GRPOConfig("out", **{**settings, **more})


def trainer_of(told: dict[str, Any], config: Any, base: type = trl.GRPOTrainer, **more: Any) -> Any:
    from rolloupe.record.integrations.trl import RecordingMixin

    kind = type("Trainer", (RecordingMixin, Spy, base), {})
    settings = {
        "model": told["model"], "reward_funcs": [told["digits"], told["correct"]], "args": config, "label": "answer",
        "train_dataset": told["Dataset"].from_list(told["sums"]),
    }  # fmt: skip
    if "recorder" not in more:
        more["recorder"] = Recorder("run", config=config, reward_range=(0, 2), code=None, strict=True)
    return kind(**{**settings, **more})


def finished(trainer: Any) -> rolloupe.Run:
    recorder = trainer.recording.recorder
    recorder.close()
    assert recorder.failures == {}
    return opened(Path(recorder.path))


def same(values: list[float], tensor: Any) -> bool:
    return bool(np.array_equal(np.asarray(values, dtype=np.float32), tensor.float().numpy(), equal_nan=True))


def check(run: rolloupe.Run, split: str, step: int, first: int, batch: dict[str, Any], size: int = 4) -> None:
    """See that the samples of a batch are what the trainer had."""
    for row, ids in enumerate(batch["ids"]):
        number = first + row
        sample = run.sample(f"{split}/{step}/{number // size}/{number % size}")
        found, count = series(sample), len(ids)
        prompt = batch["prompt_ids"][row][batch["prompt_mask"][row] == 1].tolist()
        assert sample.token_ids == prompt + list(ids)
        assert (sample.row.prompt_tokens, sample.row.response_tokens) == (len(prompt), count)
        assert sample.row.advantage == pytest.approx(float(batch["advantages"][row]))
        digits, correct = batch["rewards"][row].tolist()
        metrics = sample.row.metrics
        assert same([metrics["reward.digits"], metrics["reward.correct"]], batch["rewards"][row])
        assert sample.row.reward == pytest.approx(np.nansum([digits, correct]))
        assert sample.label == batch["inputs"][row]["answer"]
        assert same(found["loss_mask"], batch["completion_mask"][row][:count])
        for theirs, ours in SERIES.items():
            assert (ours in found) == (theirs in batch)
            if theirs in batch:
                assert same(found[ours], batch[theirs][row][:count])
        if isinstance(batch["prompts"][row], str):
            assert [turn.parts[0].text for turn in sample.turns if turn.parts] == [
                text for text in (batch["prompts"][row], batch["completions"][row]) if text
            ]


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    exec(CODE, space := {"__name__": "example"})
    run = finished(space["trainer"])
    assert run.path == str(tmp_path / "runs/trl")
    assert [(step.step, step.samples) for step in run.steps()] == [(step, 8) for step in (1, 2, 3)]
    assert [one.step for one in run.checkpoints] == [2, 3]
    assert run.checkpoints[-1].paths == {"state": "out/checkpoint-3"}
    assert run.config["beta"] == 0.04
    sample = run.sample("train/2/1/3")
    assert set(series(sample)) == {"loss_mask", "ref_logprobs", "trainer_logprobs", "entropy"}
    assert {"reward.digits", "reward.correct", "words"} <= set(sample.row.metrics)
    assert sample.row.metrics["words"] == len("".join(part.text for part in sample.turns[-1].parts).split())


@pytest.mark.parametrize("beta", [0.0, 0.1])
@pytest.mark.parametrize("passes", [1, 2])
def test_what_the_trainer_had_is_what_is_read(told: dict[str, Any], beta: float, passes: int) -> None:
    trainer = trainer_of(told, config_of(beta=beta, num_iterations=passes, max_steps=4))
    trainer.train()
    run = finished(trainer)
    steps = list(range(1, 5, passes))
    assert [(step.step, step.samples) for step in run.steps()] == [(step, 8) for step in steps]
    for step, batch in zip(steps, trainer.batches, strict=True):
        assert (batch["mode"], batch["step"]) == ("train", step - 1)
        check(run, "train", step, 0, batch)
    history = [row for row in trainer.state.log_history if "loss" in row]
    logged = {row["step"]: row for row in history if "reward" in row}
    for name in ("reward", "rewards/digits/mean", "completions/mean_length", "loss", "entropy", "grad_norm"):
        assert [(one.step, one.value) for one in run.metrics(name)] == [
            (row["step"], row[name]) for row in history if name in row
        ]
    for step in steps:
        (mean,) = [one.reward.mean for one in run.steps() if one.step == step]
        assert mean == pytest.approx(logged[step]["reward"])
        entropies = [value for one in run.whole(step) for value in series(one)["entropy"]]
        assert float(np.mean(entropies)) == pytest.approx(logged[step]["entropy"], abs=1e-3)


def test_the_first_pass_says_what_the_trainer_thinks(told: dict[str, Any]) -> None:
    trainer = trainer_of(told, config_of(num_iterations=2, max_steps=2))
    trainer.train()
    for sample in finished(trainer).whole(1):
        assert series(sample)["trainer_logprobs"] == pytest.approx(series(sample)["old_logprobs"], abs=1e-5)


def test_a_reward_that_does_not_apply_is_no_number(told: dict[str, Any]) -> None:
    def correct(completions: Any, **_: Any) -> Any:
        return [1.0 if number % 2 else None for number, _ in enumerate(completions)]

    def digits(completions: Any, **_: Any) -> Any:
        return [None if number % 4 == 0 else 0.25 for number, _ in enumerate(completions)]

    trainer = trainer_of(told, config_of(max_steps=1, reward_weights=[1.0, 1.0]), reward_funcs=[digits, correct])
    trainer.train()
    run = finished(trainer)
    rows = [run.sample(f"train/1/0/{index}").row for index in range(4)]
    assert [row.reward for row in rows][1:] == [1.25, 0.25, 1.25]
    assert math.isnan(rows[0].reward or 0) and rows[0].advantage == 0.0
    assert [math.isnan(row.metrics["reward.correct"]) for row in rows] == [True, False, True, False]


def test_what_is_cut_and_masked_is_said_to_be(told: dict[str, Any]) -> None:
    trainer = trainer_of(told, config_of(max_completion_length=2, max_steps=2, mask_truncated_completions=True))
    trainer.train()
    run = finished(trainer)
    found = [sample for step in (1, 2) for sample in run.whole(step)]
    cut = [sample for sample in found if sample.row.status == "truncated"]
    assert cut
    for sample in found:
        is_cut = (sample.token_ids or [])[-1] not in (0, 1)
        assert (sample.row.status, sample.row.discarded) == (
            ("truncated", "masked_truncated") if is_cut else ("completed", "")
        )
        assert all(value == (not is_cut) for value in series(sample)["loss_mask"])


def test_conversations_are_messages(told: dict[str, Any]) -> None:
    tokenizer = trl.trainer.grpo_trainer.AutoTokenizer.from_pretrained(told["model"])
    tokenizer.chat_template = "{% for one in messages %}{{ one.content }} {% endfor %}"
    rows = [{"prompt": [{"role": "user", "content": one["prompt"]}], "answer": one["answer"]} for one in told["sums"]]

    def digits(completions: Any, **_: Any) -> Any:
        return [float(len(completion[0]["content"])) for completion in completions]

    trainer = trainer_of(
        told, config_of(max_steps=1), reward_funcs=digits, train_dataset=told["Dataset"].from_list(rows),
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    run = finished(trainer)
    (batch,) = trainer.batches
    for row in range(8):
        sample = run.sample(f"train/1/{row // 4}/{row % 4}")
        assert [(turn.role, "".join(part.text for part in turn.parts)) for turn in sample.turns] == [
            ("user", batch["prompts"][row][0]["content"]), ("assistant", batch["completions"][row][0]["content"]),
        ]  # fmt: skip


@pytest.mark.parametrize("names", [("",), ("held", "far")])
def test_evaluations_go_by_the_names_of_their_data(told: dict[str, Any], names: tuple[str, ...]) -> None:
    data = told["Dataset"].from_list(told["sums"][:4])
    config = config_of(
        max_steps=2, eval_strategy="steps", eval_steps=1, num_generations_eval=2, per_device_eval_batch_size=4, beta=0.1
    )
    trainer = trainer_of(told, config, eval_dataset=data if names == ("",) else dict.fromkeys(names, data))
    trainer.evaluate()
    trainer.train()
    run = finished(trainer)
    for name in names:
        split = f"eval/{name or 'default'}"
        assert [(step.step, step.samples) for step in run.steps(split)] == [(step, 8) for step in range(3)]
    batches = [batch for batch in trainer.batches if batch["mode"] == "eval" and batch["step"] == 2]
    assert len(batches) == 2 * len(names)
    for number, batch in enumerate(batches):
        split = f"eval/{names[number // 2] or 'default'}"
        check(run, split, 2, number % 2 * 4, batch, size=2)
    assert "entropy" in series(run.sample(f"eval/{names[0] or 'default'}/2/3/1"))
    assert [step.step for step in run.steps()] == [1, 2]


def test_rollouts_of_one_s_own_bring_logprobs_and_masks(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")

    def rollout(prompts: Any, trainer: Any) -> Any:
        number = len(prompts)
        return {
            "prompt_ids": trainer.processing_class(text=prompts)["input_ids"],
            "completion_ids": [[7 + n % 3, 8, 3, 1][: 3 + n % 2] for n in range(number)],
            "logprobs": [[-0.5, -1.0, None, -0.25][: 3 + n % 2] for n in range(number)],
            "env_mask": [[1, 1, 0, 1][: 3 + n % 2] for n in range(number)],
            "turns_taken": [2] * number,
        }

    trainer = trainer_of(told, config_of(max_steps=1), rollout_func=rollout)
    trainer.train()
    run = finished(trainer)
    for index, count in enumerate([3, 4, 3, 4]):
        sample = run.sample(f"train/1/0/{index}")
        found = series(sample)
        assert found["loss_mask"] == [1.0, 1.0, 0.0, 1.0][:count]
        assert (found["logprobs"][:2], found["logprobs"][3:]) == ([-0.5, -1.0], [-0.25][: count - 3])
        assert sample.row.status == ("completed" if count == 4 else "truncated")
        assert sample.extra == {"turns_taken": 2}
    assert "optim/kl_sample_train_v1" in run.metric_names()


def test_many_batches_a_step_and_many_steps_a_batch(told: dict[str, Any]) -> None:
    trainer = trainer_of(told, config_of(steps_per_generation=1, gradient_accumulation_steps=3, max_steps=2))
    trainer.train()
    run = finished(trainer)
    assert [(step.step, step.samples) for step in run.steps()] == [(1, 12), (2, 12)]
    for number, batch in enumerate(trainer.batches):
        check(run, "train", number // 3 + 1, number % 3 * 4, batch)
    more = trainer_of(
        told, config_of(steps_per_generation=4, max_steps=4),
        recorder=Recorder("more", code=None, strict=True, reward_range=(0, 2)),
    )  # fmt: skip
    more.train()
    run = finished(more)
    assert [(step.step, step.samples) for step in run.steps()] == [(1, 16), (3, 16)]
    assert all("trainer_logprobs" in series(one) for step in (1, 3) for one in run.whole(step))


def test_a_run_is_resumed(told: dict[str, Any]) -> None:
    config = {"save_strategy": "steps", "save_steps": 1}
    first = trainer_of(told, config_of(max_steps=2, **config))
    first.train()
    finished(first)
    second = trainer_of(told, config_of(max_steps=3, **config))
    last = second.recording.recorder.last_checkpoint()
    assert last is not None and last.extra["global_step"] == 2
    second.train(resume_from_checkpoint=last.paths["state"])
    run = finished(second)
    assert [(step.step, step.samples) for step in run.steps()] == [(step, 8) for step in (1, 2, 3)]


def test_rloo_is_recorded_too(told: dict[str, Any]) -> None:
    config = trl.RLOOConfig(
        "out", max_steps=2, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_generations=4, beta=0.1,
        max_completion_length=8, logging_steps=1, save_strategy="no", use_cpu=True, bf16=False, report_to="none",
    )  # fmt: skip
    trainer = trainer_of(told, config, trl.RLOOTrainer)
    trainer.train()
    run = finished(trainer)
    assert [(step.step, step.samples) for step in run.steps()] == [(1, 8), (2, 8)]
    assert "trainer_logprobs" in series(run.sample("train/1/0/0"))


def test_another_trl_trains_on_and_it_is_told(told: dict[str, Any]) -> None:
    base: Any = trl.GRPOTrainer

    class Other(base):
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            output = super()._generate_and_score_completions(inputs)
            self.recording.scored = None  # as if its rewards were worked out elsewhere
            return output

    recorder = Recorder("run", code=None)
    trainer = trainer_of(told, config_of(), Other, recorder=recorder)
    with pytest.warns(RecorderWarning, match="scores completions differently"):
        trainer.train()
    assert trainer.state.global_step == 3
    assert sum(recorder.failures.values()) == 3
    recorder.close()
    assert len(opened(Path("run"), told="calls were lost").metrics("loss")) == 3


def test_nothing_that_a_hook_meets_reaches_training(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    recorder = Recorder("run", code=None)
    trainer = trainer_of(told, config_of(max_steps=1, save_strategy="steps", save_steps=1), recorder=recorder)
    for name in ("sample", "annotate", "metrics", "checkpoint", "step_end"):
        monkeypatch.setattr(recorder, name, fails)
    with pytest.warns(RecorderWarning, match="ZeroDivisionError"):
        trainer.train()
    assert trainer.state.global_step == 1
    recorder.close()


RANKED = """
import json, os, sys
from tests.frameworks.test_trl import config_of, example, trainer_of
told = {**example("model" + os.environ["RANK"]), "model": "model" + os.environ["RANK"]}
trainer = trainer_of(told, config_of(max_steps=2, beta=0.1, per_device_train_batch_size=2))
trainer.train()
trainer.recording.recorder.close()
rewards = [batch["rewards"].tolist() for batch in trainer.batches]
with open("told" + os.environ["RANK"], "w") as told:
    json.dump({"rewards": rewards, "ids": [batch["ids"] for batch in trainer.batches]}, told)
"""


def test_ranks_record_their_own_and_share_groups(tmp_path: Path) -> None:
    run_ranks(["-c", RANKED])
    told = [json.loads((tmp_path / f"told{rank}").read_text()) for rank in range(2)]
    run = opened(tmp_path / "run")
    assert [(step.step, step.samples) for step in run.steps()] == [(1, 8), (2, 8)]
    assert told[0]["rewards"] == told[1]["rewards"]
    for step in range(2):
        for row in range(8):  # all of rank 0, then all of rank 1
            sample = run.sample(f"train/{step + 1}/{row // 4}/{row % 4}")
            ids = told[row // 4]["ids"][step][row % 4]
            assert (sample.token_ids or [])[-len(ids) :] == ids
            assert sample.row.metrics["reward.digits"] == pytest.approx(told[0]["rewards"][step][row][0])
    assert len(run.metrics("loss")) == 2
    assert (tmp_path / "run/samples/rank1.jsonl").exists()
