"""`rolloupe ls`: list the runs at a path and their splits."""

from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import line, number, output, print_table, tell, without_samples

if TYPE_CHECKING:
    from rolloupe.api import Run

EXAMPLES = (
    Example("rolloupe ls RUNS_DIR", "All runs below a folder"),
    Example("rolloupe ls RUN_DIR --json | jq '.[] | [.name, .reward_mean]'", "The mean reward of each run"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of runs.")
@options.reading
def ls(as_json: bool, **place: Any) -> int:
    """List runs: splits, steps, samples, rewards.

    With --json, prints a list of objects with id, name, path, format, reason, problems (a count), groups, samples,
    reward_mean (all of the whole run) and splits. For each split, splits holds steps, groups, samples, discarded (a
    count), reward_mean, reward_min and reward_max. Rewards cover the finite values of trained samples, and are null
    without any.
    """
    with options.opened(options.place_of(**place)) as runs:
        if as_json:
            tell(dumps([_record(run) for run in runs], indent=2))
        elif len(runs):
            _print(list(runs))
        if not len(runs):
            options.explain_nothing(runs)
        else:
            options.name_shut(runs)
        return OK if len(runs) else NOTHING


def _record(run: "Run") -> dict[str, Any]:
    splits = run.splits()
    rewards = [(split.reward.count, split.reward.mean) for split in splits if split.reward.mean is not None]
    count = sum(number for number, _ in rewards)
    return {
        "id": run.id,
        "name": run.name,
        "path": run.path,
        "format": run.format,
        "reason": run.reason,
        "problems": run.problem_count(),
        "groups": sum(split.groups for split in splits),
        "samples": sum(split.samples for split in splits),
        "reward_mean": sum(number * mean for number, mean in rewards) / count if count else None,
        "splits": {
            split.name: {
                "steps": split.steps,
                "groups": split.groups,
                "samples": split.samples,
                "discarded": split.discarded,
                "reward_mean": split.reward.mean,
                "reward_min": split.reward.min,
                "reward_max": split.reward.max,
            }
            for split in splits
        },
    }


def _print(runs: "list[Run]") -> None:
    numbers = ("steps", "groups", "samples", "discarded", "reward", "min", "max", "problems")
    rows: list[list[str]] = []
    for run in runs:
        problems = str(run.problem_count())
        splits = run.splits()
        for place, split in enumerate(splits):
            reward = split.reward.mean, split.reward.min, split.reward.max
            counts = split.steps, split.groups, split.samples, split.discarded
            head = ["", "", ""] if place else [run.id, run.format, problems]
            rows.append([*head, *map(number, counts), *map(number, reward), split.name])
        if not splits:
            rows.append([run.id, run.format, problems, *["-"] * 7, without_samples(len(run.metric_names()))])
    print_table(("run", "format", "problems", *numbers[:-1], "split"), rows, numbers=numbers)
    for run in runs:
        for doubt in run.reward_doubts():
            output().print(line(f"{run.id}: {doubt}", "yellow"), soft_wrap=True)
