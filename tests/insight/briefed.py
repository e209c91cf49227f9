"""Runs in which one thing goes wrong or nothing does, written as a trainer writes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rolloupe import Recorder

WORDS = "so the sum of both is then we take half add three and check that it holds which gives a final number".split()
STEPS, GROUPS, MEMBERS = 40, 8, 8

Change = Callable[[dict[str, Any], int, np.random.Generator], None]
"""Changes a sample of a step before it is written."""
Grouped = Callable[[list[dict[str, Any]], int, np.random.Generator], None]
"""Changes the samples of a group at a step."""


def write(
    folder: Path,
    seed: int,
    *,
    rate: Callable[[int], float] = lambda step: 0.5,
    held_out: Callable[[int], float] | None = None,
    change: Change = lambda sample, step, random: None,
    grouped: Grouped = lambda samples, step, random: None,
    metrics: Callable[[int, np.random.Generator], dict[str, float]] = lambda step, random: {},
    steps: int = STEPS,
    members: int = MEMBERS,
    config: dict[str, Any] | None = None,
) -> Path:
    """Write a run whose answers are correct at some rate by step; `held_out` is the rate of an evaluation."""
    random = np.random.default_rng(seed)
    with Recorder(folder, code=None, config=config) as run:
        for step in range(steps):
            for group in range(GROUPS):
                level = 0.3 * random.standard_normal()
                samples = []
                for _ in range(members):
                    correct = float(random.random() < np.clip(rate(step) + level, 0, 1))
                    words = random.choice(WORDS, random.integers(20, 60))
                    sample: dict[str, Any] = {
                        "prompt": f"Question {step * GROUPS + group}", "response": " ".join(words), "reward": correct,
                        "response_tokens": len(words), "metrics": {"correct": correct},
                    }  # fmt: skip
                    change(sample, step, random)
                    samples.append(sample)
                grouped(samples, step, random)
                for index, sample in enumerate(samples):
                    run.sample(step=step, group=str(group), index=index, **sample)
            if held_out is not None and step % 2 == 0:
                for index in range(64):
                    correct = float(random.random() < held_out(step))
                    run.sample(
                        step=step, split="eval/held", group=str(index), index=0, prompt=f"Held out {index}",
                        response="a number", reward=correct, metrics={"correct": correct},
                    )  # fmt: skip
            run.metrics(step, {"kl": 0.01 * float(np.exp(0.2 * random.standard_normal()))} | metrics(step, random))
            run.step_end(step)
    return folder
