"""What the pages of frameworks add to a trainer records its samples: run on stand-ins for its objects.

The shapes are those of OpenRLHF 0.11.0 (`Experience`: the mask and the series have no first token) and of Agent
Lightning 1.0.0 (`Rollout`, and events by attempt).
"""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rolloupe

FRAMEWORKS = Path(__file__).parents[2] / "docs/frameworks"


class Tensor(np.ndarray[Any, Any]):
    """An array with the one method of tensors that the code calls."""

    def bool(self) -> Any:
        """Return whether each number is not zero."""
        return self.astype(np.bool_)


def tensor(*rows: Any) -> Any:
    return np.array(rows).view(Tensor)


def code_of(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"rolloupe": rolloupe}
    for block in re.findall(r"```python\n(.*?)```", (FRAMEWORKS / page).read_text(encoding="utf-8"), re.DOTALL):
        exec(block, names)  # what a reader pastes
    return names


def test_a_step_of_openrlhf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    experience = SimpleNamespace(
        index=[2, 1], prompts=["p1", "p0"], labels=["x", "y"], rewards=tensor(1.0, 0.0),
        sequences=tensor([7, 8, 9, 5], [0, 7, 6, 5]), action_mask=tensor([0, 1, 1], [0, 0, 1]), rollout_log_probs=None,
        action_log_probs=tensor([0, -1.0, -2], [0, 0, -3]), advantages=tensor([0, 0.5, 0.5], [0, 0, -0.5]),
    )  # fmt: skip
    trainer = SimpleNamespace(
        args=SimpleNamespace(rollout=SimpleNamespace(n_samples_per_prompt=2)), tokenizer=SimpleNamespace(decode=str)
    )
    record = code_of("openrlhf.md")["record"]
    record(trainer, [experience], 3)
    trainer.recorder.close()
    with rolloupe.open(tmp_path / "runs/openrlhf") as runs:
        first, second = (runs.runs[0].sample(str(item.key)) for item in runs.runs[0].samples(sort="reward"))
    assert [(one.row.step, one.row.group, one.row.index, one.row.reward) for one in (first, second)] == [
        (3, "0", "1", 0.0), (3, "1", "0", 1.0),
    ]  # fmt: skip
    series = {one.name: list(one.values) for one in second.series}
    assert series["trainer_logprobs"] == [-1.0, -2.0] and series["advantages"] == [0.5, 0.5]
    assert "logprobs" not in series and second.row.response_tokens == 2


def test_a_rollout_of_agent_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hooks = ModuleType("agentlightning.hooks")
    hooks.RolloutHooks = object  # type: ignore[pyrefly:missing-attribute]
    monkeypatch.setitem(sys.modules, "agentlightning.hooks", hooks)
    hook = code_of("agent_lightning.md")["Record"]()
    hook.on_startup()
    call = {
        "model_version": 4, "request": {"messages": [{"role": "user", "content": "2+2?"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "4"}}]},
    }  # fmt: skip
    events = {"0": [SimpleNamespace(event_type="model_request", data=call)]}
    rollout = SimpleNamespace(rollout_id="r1", input={"q": "2+2?"}, is_train=True)
    hook.on_succeeded(rollout, events, None)
    events["0"].append(SimpleNamespace(event_type="reward", data={"value": 1.0}))
    hook.on_succeeded(SimpleNamespace(**{**vars(rollout), "rollout_id": "r2"}), events, None)
    hook.on_succeeded(rollout, {"0": []}, None)
    hook.recorder.close()
    with rolloupe.open(tmp_path / "runs/agent-lightning") as runs:
        found = list(runs.runs[0].samples())
    assert [(one.key.step, one.key.group, one.reward) for one in found] == [
        (4, '{"q": "2+2?"}', None), (4, '{"q": "2+2?"}', 1.0),
    ]  # fmt: skip


ANSWER = [{"role": "assistant", "content": "4"}]
STEP = {"step": 3, "task": "t", "truth": "4"}
RECORDED: dict[str, tuple[dict[str, Any], str]] = {
    "areal": ({"version": 3, "results": [{"input_ids": [1, 2], "rewards": 1.0}]}, "t"),
    "art": ({"group": SimpleNamespace(trajectories=[SimpleNamespace(messages=lambda: ANSWER, reward=1.0)])}, "t"),
    "harbor": ({"trials": [SimpleNamespace(task="u", messages=ANSWER, reward=1.0)]}, "u"),
    "inspect": (
        {
            "log": SimpleNamespace(samples=[SimpleNamespace(id="u", output=SimpleNamespace(completion="4"))]),
            "reward": lambda one: float(one.id == "u"),
        },
        "u",
    ),
    "nemo_gym": ({"results": [{"_ng_task_index": 7, "text": "4", "reward": 1.0}]}, "7"),
    "nemo_rl": ({"message_logs": [ANSWER], "rewards": [1.0], "truths": ["4"], "each": 4}, "0"),
    "open_instruct": (
        {
            "result": SimpleNamespace(responses=[[1, 2]]), "scores": [1.0],
            "tokenizer": SimpleNamespace(decode=lambda _: "4"),
            "streaming_config": SimpleNamespace(num_samples_per_prompt_rollout=4),
        },
        "0",
    ),
    "roll": (
        {
            "batch": SimpleNamespace(
                batch={"responses": tensor([1, 2]), "scores": tensor(1.0)}, non_tensor_batch={"id": [7]}
            )
        },
        "7",
    ),
    "skyrl": ({"output": {"response_ids": [[1, 2]], "rewards": [[0.25, 0.75]]}, "uids": ["u"]}, "u"),
    "trackers": ({"batch": [("q", "4", 1.0)]}, ""),
    "tviz": ({"trajectories": [{"output_text": "4", "reward": 1.0}]}, "t"),
    "verifiers": ({"results": [{"example_id": 7, "completion": ANSWER, "reward": 1.0}]}, "7"),
}  # fmt: skip
"""By page what stands for the trainer's objects, and the group of the one sample in them."""


@pytest.mark.parametrize("page", RECORDED)
def test_the_loop_of_a_page_records_its_samples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names, group = RECORDED[page]
    own: dict[str, Any] = {"rolloupe": rolloupe, **STEP, **names}
    exec(block_with(page, "recorder.sample("), own)
    own["recorder"].close()
    with rolloupe.open(tmp_path / "runs") as runs:
        (one,) = runs.only().samples()
        whole = runs.only().sample(one.key)
    assert (one.key.step, one.reward) == (0 if page in ("nemo_gym", "verifiers") else 3, 1.0)
    assert not group or one.key.group == group
    assert whole.response_text == "4" or whole.token_ids == [1, 2]


def test_a_reward_function_of_ms_swift_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own: dict[str, Any] = {"rolloupe": rolloupe, "judge": lambda texts: [float(text == "4") for text in texts]}
    exec(block_with("ms_swift", "recorder.sample("), own)
    asked = [{"role": "user", "content": "2+2?"}]
    messages = [[*asked, {"role": "assistant", "content": text}] for text in ("4", "5")]
    for _ in range(2):  # as with gradient accumulation
        assert own["reward"](["4", "5"], SimpleNamespace(global_step=3), messages) == [1.0, 0.0]
    own["recorder"].close()
    with rolloupe.open(tmp_path / "runs") as runs:
        found = list(runs.only().samples())
        assert [(one.key.step, one.reward) for one in found] == [(3, 1.0), (3, 0.0)] * 2
        assert len({one.key.group for one in found}) == 1
        assert runs.only().sample(found[0].key).prompt_text == "2+2?"


def test_a_trainer_of_verl_records_logprobs(tmp_path: Path) -> None:
    logged: list[Any] = []
    trainer = type(
        "RayPPOTrainer", (), {"global_steps": 3, "_log_rollout_data": lambda _, *given: logged.append(given)}
    )
    batch = SimpleNamespace(
        non_tensor_batch={"uid": ["u"]},
        batch={"responses": tensor([1, 2]), "old_log_probs": tensor([-1.0, -2.0])},
    )
    with rolloupe.Recorder(tmp_path, code=None) as recorder:
        own: dict[str, Any] = {"recorder": recorder, "RayPPOTrainer": trainer}
        exec(block_with("verl", "recorder.sample("), own)
        own["Trainer"]()._log_rollout_data(batch, "rest")
    assert logged == [(batch, "rest")]
    with rolloupe.open(tmp_path) as runs:
        whole = runs.only().sample("train/3/u/0")
    assert [(one.name, list(one.values)) for one in whole.series] == [("logprobs", [-1.0, -2.0])]


@pytest.mark.parametrize("page", sorted(path.stem for path in FRAMEWORKS.glob("*.md")))
def test_what_a_page_records_has_groups(page: str) -> None:
    text = (FRAMEWORKS / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for call in re.findall(r"recorder\.sample\((.*?)\)\n", block, re.DOTALL):
            assert "group=" in call or "prompt=" in call, "all samples of a step would be one group"


def block_with(page: str, words: str) -> str:
    text = (FRAMEWORKS / f"{page}.md").read_text(encoding="utf-8")
    (found,) = [one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if words in one]
    return str(found)
