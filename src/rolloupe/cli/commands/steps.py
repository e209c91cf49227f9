"""`rolloupe steps`: list the rewards by step."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import complain, number, print_table, tell
from rolloupe.errors import NotFound

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import StepSummary

    Found = Iterator[tuple[Run, StepSummary]]

EXAMPLES = (
    Example("rolloupe steps RUN_DIR --split train", "Does the reward rise?"),
    Example("rolloupe steps RUN_DIR --split train --json | jq -c '[.step, .reward_mean]'", "The curve, for a program"),
    Example("rolloupe steps RUN_DIR --split eval", "Every evaluation"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@options.one_run
@click.option(
    "--split",
    metavar="NAME",
    help="One split, such as train or eval/aime24; eval stands for every eval/... Default: all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def steps(run_id: str | None, split: str | None, as_json: bool, **place: Any) -> int:
    """List the steps of a run: number of samples, and their rewards.

    Splits follow one another, train first. Rewards cover the finite values of trained samples; a column counts the
    trained samples without one.

    With --json, each object has run, split, step, samples, discarded (a count), reward_mean, reward_std (of the
    population), without_reward and state ("being written" or "incomplete" if the format can tell, else null). Without
    any reward, mean and deviation are null.
    """
    with options.opened(options.place_of(**place), run_id=run_id) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        found = _steps(runs, run_id, split)
        shown = _write_lines(found) if as_json else _write_table(found)
        if not shown:
            complain("There are no samples yet.")
        return OK if shown else NOTHING


def _steps(runs: "Runs", run_id: str | None, split: str | None) -> "Found":
    """Return the steps of all runs. Raises `NotFound` if no run has the split."""
    splits: dict[str, None] = {}
    is_there = split is None
    for run in options.chosen(runs, run_id):
        names = [one.name for one in run.splits()]
        splits |= dict.fromkeys(names)
        for name in names:
            if split is None or name == split or (split == "eval" and name.startswith("eval/")):
                is_there = True
                yield from ((run, step) for step in run.steps(name))
    if not is_there and splits:
        raise NotFound(f"no split {split!r}; there are: {', '.join(list(splits)[:40])}")


def _write_lines(run_steps: "Found") -> int:
    shown = 0
    for run, step in run_steps:
        tell(
            dumps(
                {
                    "run": run.id, "split": step.split, "step": step.step, "samples": step.samples,
                    "discarded": step.discarded, "reward_mean": step.reward.mean, "reward_std": step.reward.std,
                    "without_reward": step.reward.excluded, "state": step.state or None,
                }
            )
        )  # fmt: skip
        shown += 1
    return shown


def _write_table(run_steps: "Found") -> int:
    pairs = list(run_steps)
    many = len({run.id for run, _ in pairs}) > 1
    has_state = any(step.state for _, step in pairs)
    numbers = ("step", "samples", "discarded", "reward", "std", "without reward")
    rows = [
        [
            *([run.id] if many else []),
            *map(number, (step.step, step.samples, step.discarded, step.reward.mean, step.reward.std)),
            number(step.reward.excluded),
            *([step.state] if has_state else []),
            step.split,
        ]
        for run, step in pairs
    ]
    if rows:
        names = [*(["run"] if many else []), *numbers, *(["state"] if has_state else []), "split"]
        print_table(names, rows, numbers=numbers)
    return len(rows)
