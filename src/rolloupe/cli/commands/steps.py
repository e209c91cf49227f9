"""`rolloupe steps`: list the rewards by step."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rolloupe.cli.options import JSON, SPLIT, command
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import NOTHING, OK, complain, print_table, tell_json
from rolloupe.errors import NotFound
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import StepSummary


COLUMNS = ("run", "step", "samples", "discarded", "reward", "std", "without reward", "state", "split")


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """Which steps to list."""

    split: str | None = option(None, **SPLIT)
    as_json: bool = option(False, **JSON)


@command()
def steps(asked: StepOptions, place: RunPaths) -> int:
    """List the steps of a run: number of samples, and their rewards.

    Splits follow one another, train first. Rewards cover the finite values of trained samples; a column counts the
    trained samples without one.

    With --json, each object has run, split, step, samples, discarded (a count), reward_mean, reward_std (of the
    population), without_reward and state ("being written" or "incomplete" if the format can tell, else null). Without
    any reward, mean and deviation are null.

    Examples:
      rolloupe steps RUN_DIR --split train  # Does the reward rise?
      rolloupe steps RUN_DIR --split train --json | jq -c '[.step, .reward_mean]'  # The curve, for a program
      rolloupe steps RUN_DIR --split eval  # Every evaluation
    """
    with opened(place) as runs:
        pairs = [*_steps(runs, asked.split)]
        if not pairs:
            complain("There are no samples yet.")
            return NOTHING
        if not asked.as_json:
            many = len({run.id for run, _ in pairs}) > 1
            rows = []
            for run, step in pairs:
                reward, head = step.reward, (run.id if many else "", step.step, step.samples, step.discarded)
                rows.append([*head, reward.mean, reward.std, reward.excluded, step.state, step.split])
            print_table(COLUMNS, rows)
            return OK
        for run, step in pairs:
            record = {
                "run": run.id, "split": step.split, "step": step.step, "samples": step.samples,
                "discarded": step.discarded, "reward_mean": step.reward.mean, "reward_std": step.reward.std,
                "without_reward": step.reward.excluded, "state": step.state or None,
            }  # fmt: skip
            tell_json(record)
        return OK


def _steps(runs: "Runs", split: str | None) -> "Iterator[tuple[Run, StepSummary]]":
    """Return the steps of all runs. Raises `NotFound` if no run has the split."""
    from rolloupe.query.engine.names import is_asked

    names = [(run, summary.name) for run in runs for summary in run.splits()]
    chosen = [(run, name) for run, name in names if is_asked(name, split)]
    if names and not chosen:
        known = dict.fromkeys(name for _, name in names)
        raise NotFound(f"no split {split!r}; there are: {', '.join([*known][:40])}")
    for run, name in chosen:
        yield from ((run, step) for step in run.steps(name))
