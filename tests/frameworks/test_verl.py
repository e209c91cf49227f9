"""verl's own writer of rollouts, on what a trainer has in its hands: field by field what is read back."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rolloupe
from tests.frameworks.support import needs

ASKED = "system\nYou may search.\nuser\nWhere?\nassistant\n"
CALL = '<tool_call>\n{"name": "find", "arguments": {"q": "x"}}\n</tool_call>'
SEARCHED = f"Let me look.{CALL}\nuser\n<tool_response>\nParis\n</tool_response>\nassistant\nParis."
ANSWERS = [SEARCHED, "Rome.", "Paris, I think ✓", ""]
SCORES = [1.0, 0.0, math.nan, -0.25]


def test_rollouts_are_what_verl_was_given(tmp_path: Path) -> None:
    trainer = needs("verl.trainer.ppo.ray_trainer").RayPPOTrainer
    own: Any = SimpleNamespace(global_steps=0, _dump_futures=[], _dump_executor=ThreadPoolExecutor(max_workers=1))
    own._write_generations = trainer._write_generations
    given: dict[int, dict[str, Any]] = {}
    for step in (1, 2):
        own.global_steps = step
        extra = {"acc": [score == 1.0 for score in SCORES] * 2, "pred": ["p", None, "q", "r"] * 2}
        given[step] = {
            "inputs": [ASKED] * 4 + [ASKED.replace("Where", "When")] * 4, "outputs": ANSWERS * 2,
            "gts": ["Paris"] * 8, "scores": [score * step for score in SCORES] * 2, "reward_extra_infos_dict": extra,
        }  # fmt: skip
        trainer._dump_generations(own, **given[step], dump_path=str(tmp_path / "rollouts/train"))
    trainer._shutdown_dump_executor(own)
    compared = 0
    with rolloupe.open(tmp_path / "rollouts/train", index_dir=tmp_path / "index") as runs:
        run = runs.only()
        assert (run.format, [(one.step, one.samples) for one in run.steps()]) == ("verl", [(1, 8), (2, 8)])
        for step, of_step in given.items():
            found = sorted(run.samples(step=step), key=lambda one: int(one.key.index.rpartition(":")[2]))
            assert [found[0].key.group == one.key.group for one in found] == [True] * 4 + [False] * 4
            for n, item in enumerate(found):
                sample, texts = run.sample(item.id), run.texts(item.id)
                extra = of_step["reward_extra_infos_dict"]
                assert (texts.prompt, texts.response) == (of_step["inputs"][n], of_step["outputs"][n])
                assert item.reward == pytest.approx(of_step["scores"][n], nan_ok=True)
                assert (sample.label, item.metrics["acc"]) == (of_step["gts"][n], float(extra["acc"][n]))
                assert item.tags.get("pred") == extra["pred"][n]
                answers = [turn for turn in sample.turns if turn.origin == "response" and turn.role == "assistant"]
                assert len(answers) == (2 if n % 4 == 0 else 1)
                compared += 6
    assert compared == 96
    lines = [json.loads(line) for line in (tmp_path / "rollouts/train/1.jsonl").read_text().splitlines()]
    assert [line["output"] for line in lines] == ANSWERS * 2
