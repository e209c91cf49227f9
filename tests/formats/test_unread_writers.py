"""What no format reads is named, and its next step leads to samples."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rolloupe.formats import discover
from rolloupe.formats.trackers.samples import samples_of_table
from tests.formats.support import rows, samples, write

CHAT = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
TEXTS = {"prompt": "q", "response": "a"}
TRAJECTORY = {"name": "solver", "uid": "u", "reward": 0.5, "steps": [{"chat_completions": CHAT, "reward": 0.5}]}
OF_TRAINER = {
    "training_step": 3,
    "epoch": 0,
    "episode_id": "t:1",
    "session_id": None,
    "task": {"q": 1},
    "task_hash": "h",
}
OF_EVAL = {"id": "t:1", "task": None, "termination_reason": "env_done", "is_correct": True, "session_id": None}


def reason_of(place: Path) -> str:
    """Why nothing at a path is read."""
    found = discover([place])
    assert not found.runs
    return " ".join(note.reason for note in found.notes)


@pytest.mark.parametrize("document", [OF_TRAINER, OF_EVAL])
def test_episodes_of_rllm_become_lines_by_the_command_that_is_named(tmp_path: Path, document: dict[str, Any]) -> None:
    episode = tmp_path / "episodes" / "episode_000000_t.json"
    episode.parent.mkdir()
    episode.write_text(json.dumps({**document, "trajectories": [TRAJECTORY, TRAJECTORY]}, indent=2))
    reason = reason_of(episode.parent)
    assert "rLLM" in reason and "Next: " in reason
    (program,) = re.findall(r"jq -c '([^']+)'", reason)
    if shutil.which("jq") is None:
        pytest.skip("no jq")
    made = subprocess.run(["jq", "-c", program, str(episode)], capture_output=True, text=True, check=True).stdout
    (tmp_path / "rollouts.jsonl").write_text(made)
    (run,) = discover([tmp_path / "rollouts.jsonl"]).runs
    assert [(row.reward, row.step) for row in rows(run)] == [(0.5, document.get("training_step", 0))] * 2
    assert [turn.role for turn in samples(run)[0].turns] == ["user", "assistant"]


def test_trajectories_of_the_eval_store_of_the_tinker_cookbook_are_read(tmp_path: Path) -> None:
    turns = [{**turn, "token_count": 3, "metadata": {}} for turn in CHAT]
    line = {"idx": 0, "benchmark": "gsm8k", "example_id": "e1", "turns": turns, "reward": 1.0, "metrics": {"c": 1}}
    path = write(tmp_path / "runs/r/gsm8k/trajectories.jsonl", line, line | {"idx": 1, "reward": 0.0})
    (run,) = discover([path]).runs
    assert [(row.reward, row.group) for row in rows(run)] == [(1.0, "e1"), (0.0, "e1")]
    assert [turn.role for turn in samples(run)[0].turns] == ["user", "assistant"]


def test_the_archive_of_agent_lightning_and_the_log_of_easy_r1_are_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "train_trajectories.jsonl.zip", "w") as archive:
        archive.writestr("train_trajectories.jsonl", json.dumps({"rollout_id": "r", "reward": 1, **TEXTS}))
    assert "Agent Lightning" in reason_of(tmp_path) and "Next: unzip" in reason_of(tmp_path)
    with zipfile.ZipFile(tmp_path / "train_trajectories.jsonl.zip") as archive:
        archive.extractall(tmp_path / "unzipped")
    (run,) = discover([tmp_path / "unzipped"]).runs
    assert [(row.reward, row.tags) for row in rows(run)] == [(1.0, {"rollout_id": "r"})]
    (tmp_path / "easy").mkdir()
    (tmp_path / "easy/generations.log").write_text("[prompt] q\n[output] a\n[ground_truth] b\n[score] 0.5\n\n")
    assert "EasyR1" in reason_of(tmp_path / "easy")


def test_the_table_of_easy_r1_has_labels() -> None:
    (found,) = samples_of_table(
        "val/generations", [{"step": 5, "input_1": "q", "output_1": "a", "label_1": "b", "score_1": 0.5}], None
    )
    assert found.record == {"prompt": "q", "response": "a", "label": "b", "reward": 0.5, "step": 5}
    assert found.split == "eval/generations"
