"""What the documentation adds to trainers that write nothing records their samples: run on stand-ins for their objects.

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
    hooks.RolloutHooks = object  # type: ignore[attr-defined]
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
