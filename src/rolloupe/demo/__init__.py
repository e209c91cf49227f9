"""Bundled runs for `rolloupe demo`. README.md here describes each one and its licence."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

RUNS = Path(__file__).resolve().parent / "runs"
"""The folder of runs that `rolloupe demo` opens."""

FIRST = RUNS / "tiny_grpo"
"""The run that it opens on."""

OTHERS = "Other formats"


class DemoRun(NamedTuple):
    """A bundled run, and what the list of runs says about it."""

    folder: str
    format: str
    about: str
    group: str = ""
    """The heading above it in the list of runs; empty for the runs on top."""


DEMO_RUNS = (
    DemoRun("tiny_grpo", "native", "A tiny model learns sums in 90 steps of GRPO. Its answers are short."),
    DemoRun("long_reasoning", "generic", "A 1.5B model reasons on AMC and AIME problems, before and after 50 steps."),
    DemoRun("agent_airline", "generic", "GPT-4o as an airline's agent with 14 tools (τ-bench): 50 tasks, 4 trials."),
    DemoRun(
        "code_codeforces", "generic",
        "58 attempts at a Codeforces problem in a shell. The reward is public_reward; private_reward differs in 11.",
    ),
    DemoRun("math_llama3b", "generic", "A 3B model on AMC and AIME problems at steps 400 and 800, 8 or 16 answers."),
    DemoRun("images_circles", "nemo_gym", "Ten questions about drawn images: click a circle, count the circles."),
    DemoRun("other_formats/relax", "relax", "Toy text from the writer of Relax, with two evaluations.", OTHERS),
    DemoRun(
        "other_formats/rl_logging_board/eval_poem_task", "rl_logging_board",
        "Couplets of classical Chinese poems, each beside a reference.", OTHERS,
    ),
    DemoRun(
        "other_formats/rl_logging_board/gen_train_toy", "rl_logging_board",
        "Toy text with an array for each token, as RLLoggingBoard reads it.", OTHERS,
    ),
    DemoRun("other_formats/trackio", "trackio", "Eight steps of GRPO on toy sums, logged by TRL to trackio.", OTHERS),
    DemoRun("other_formats/trl", "trl", "Completions of TRL's GRPOTrainer on toy sums.", OTHERS),
    DemoRun("other_formats/verl_math", "verl", "One step of school word problems by verl; all rewards are 0.", OTHERS),
)  # fmt: skip
"""The runs in the order of the list; the first one opens."""

RECORDED_S = 1795288600
"""An upper bound of their recording time, in seconds since 1970."""


def demo_run(path: str) -> DemoRun | None:
    """Return the bundled run at a path or around it; None elsewhere."""
    if not Path(path).is_relative_to(RUNS):
        return None
    place = Path(path).relative_to(RUNS)
    return next((run for run in DEMO_RUNS if place.is_relative_to(run.folder)), None)


def dated() -> None:
    """Give the files the time of their runs, if permitted: in a new clone all files are new."""
    for path in RUNS.rglob("*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime > RECORDED_S:
                os.utime(path, (RECORDED_S, RECORDED_S))
