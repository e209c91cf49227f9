"""What TRL leaves on disk is read as its trainer computed it: rewards by weight, and curves at the steps of samples."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rolloupe
from tests.frameworks.support import ROOT, needs

TRAINER = """
import json, math, os, sys
import torch
from tests.frameworks.test_trl import config_of, example
import trl

told = example("model")
weights = [1.0, 0.5, 2.0]


def some(completions, answer, **kwargs):  # a function that leaves out some completions
    return [None if right == "5" else float(right in one.split()) for right, one in zip(answer, completions)]


def short(completions, log_extra, **kwargs):
    log_extra("words", [float(len(one.split())) for one in completions])  # a column of floats, which is not a reward
    return [-len(one) / 20 for one in completions]


class Trainer(trl.GRPOTrainer):
    batches = []

    def _calculate_rewards(self, *args, **kwargs):
        parts = super()._calculate_rewards(*args, **kwargs)
        total = (parts * self.reward_weights).nansum(dim=1)
        total[torch.isnan(parts).all(dim=1)] = math.nan
        found = {"mode": "train" if self.model.training else "eval", "step": self.state.global_step}
        self.batches.append({**found, "total": total.tolist(), "parts": parts.tolist()})
        return parts

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        self.batches[-1]["advantages"] = output["advantages"].tolist()
        return output


tracker = sys.argv[1]
of_trackio = {"trackio_space_id": None} if tracker == "trackio" else {}
config = config_of(
    max_steps=5, log_completions=True, report_to=tracker, reward_weights=weights, run_name="out",
    eval_strategy="steps", eval_steps=4, per_device_eval_batch_size=4, **of_trackio,
)
columns = told["Dataset"].from_list(told["sums"])
held_out = told["Dataset"].from_list(told["sums"][:4])
trainer = Trainer(
    model="model", reward_funcs=[told["digits"], some, short], args=config, train_dataset=columns, eval_dataset=held_out
)
trainer.train()
trainer.save_state()
with open("seen.json", "w") as file:
    json.dump({"batches": trainer.batches, "history": trainer.state.log_history}, file)
"""
NAMES = ("digits", "some", "short")
KEPT = 8
"""TRL logs the last batch alone, also of a longer evaluation."""


def trained(tracker: str, folder: Path) -> dict[str, Any]:
    """Train in a process of its own, and return what the trainer had in its hands."""
    places = {"TRACKIO_DIR": folder / "out/trackio", "WANDB_DIR": folder / "out", "HOME": folder / "home"}
    told = {
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    environment = {**os.environ, **told, **{name: str(path) for name, path in places.items()}}
    (folder / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", TRAINER, tracker], env=environment, capture_output=True, text=True, timeout=500,
        cwd=folder, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return found


def totals(seen: dict[str, Any], mode: str) -> dict[int, list[float | None]]:
    """The rewards of the completions of each step, or of each evaluation, sorted: of as many as TRL keeps."""
    found: dict[int, list[Any]] = {}
    for one in seen["batches"]:
        if one["mode"] == mode:
            found.setdefault(one["step"] + (mode == "train"), []).extend(one["total"])
    return {step: in_order(rewards[-KEPT:]) for step, rewards in found.items()}


def in_order(rewards: list[Any]) -> list[float | None]:
    known = (None if one is None or one != one else round(one, 5) for one in rewards)
    return sorted(known, key=lambda one: (one is None, one or 0.0))


def read(run: rolloupe.Run, split: str) -> dict[int, list[float | None]]:
    """The rewards of the samples of each step of a split, sorted."""
    found: dict[int, list[Any]] = {}
    for sample in run.samples(split=split):
        found.setdefault(sample.step, []).append(sample.reward)
    return {step: in_order(rewards) for step, rewards in found.items()}


@pytest.mark.parametrize("tracker", ["tensorboard", "trackio", "wandb"])
def test_rewards_and_curves_are_those_of_the_trainer(tracker: str, tmp_path: Path) -> None:
    needs("trl")
    needs(tracker)
    seen = trained(tracker, tmp_path)
    with rolloupe.open(tmp_path / "out", index_dir=tmp_path / "index") as runs:
        by_format = {run.format: run for run in runs}
        run = by_format["trl"]
        assert run.problems() == []
        trained_on, evaluated = totals(seen, "train"), totals(seen, "eval")
        assert [*trained_on] == [1, 2, 3, 4, 5] and [*evaluated] == [4, 5]
        overwritten = {step: rewards for step, rewards in trained_on.items() if step not in evaluated}
        assert read(run, "train") == overwritten and read(run, "eval/eval") == evaluated
        parts = {tuple(map(str, row)) for one in seen["batches"] for row in one["parts"]}
        for sample in run.samples():
            assert tuple(str(sample.metrics.get(f"reward.{name}", float("nan"))) for name in NAMES) in parts
            assert set(sample.metrics) >= {"words"}
        check_curves(run, seen, tracker)
    if tracker != "tensorboard":  # which keeps no tables
        with rolloupe.open(tmp_path / "out" / tracker, index_dir=tmp_path / "index") as runs:
            tables = runs.only()
            assert tables.format == tracker and tables.problems() == []
            assert read(tables, "train") == trained_on and read(tables, "eval/eval") == evaluated
            check_curves(tables, seen, tracker)


def check_curves(run: rolloupe.Run, seen: dict[str, Any], tracker: str) -> None:
    """See that all that the trainer logged of a step stands at that step."""
    rows = {row.step: row.values for row in run.metric_rows() if row.step is not None}
    logged = 0
    for one in seen["history"]:
        of_eval = any(name.startswith("eval_") for name in one)
        for name, value in one.items():
            if not isinstance(value, float) or name.startswith("train_") or name in ("total_flos", "epoch"):
                continue
            own = f"eval/{name.removeprefix('eval_')}" if of_eval else f"train/{name}"
            assert rows[one["step"]][own] == pytest.approx(value, rel=1e-6), (one["step"], own)
            logged += 1
    assert logged > 100 and tracker
