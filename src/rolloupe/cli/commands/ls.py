"""`rolloupe ls`: list the runs at a path and their splits."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolloupe.cli.options import command
from rolloupe.cli.runs import explain_nothing, name_shut, opened
from rolloupe.cli.terminal import NOTHING, OK, print_table, show_line, tell_json, without_samples
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The form of the list."""

    as_json: bool = option(False, "Print a JSON list of runs.", flags=("--json",))


@command(has_run=False)
def ls(asked: ListOptions, place: RunPaths) -> int:
    """List runs: splits, steps, samples, rewards.

    With --json, prints a list of objects with id, name, path, format, reason, problems (a count), groups, samples,
    reward_mean (all of the whole run) and splits. For each split, splits holds steps, groups, samples, discarded (a
    count), reward_mean, reward_min and reward_max. Rewards cover the finite values of trained samples, and are null
    without any.

    Examples:
      rolloupe ls RUNS_DIR  # All runs below a folder
      rolloupe ls RUN_DIR --json | jq '.[] | [.name, .reward_mean]'  # The mean reward of each run
    """
    with opened(place, may_be_empty=True) as runs:
        if asked.as_json:
            tell_json([_record(run) for run in runs], indent=2)
        elif len(runs):
            _print(runs)
        if not len(runs):
            explain_nothing(runs)
            return NOTHING
        name_shut(runs)
        return OK


def _record(run: "Run") -> dict[str, Any]:
    splits = run.splits()
    rewards = [(split.reward.count, split.reward.mean) for split in splits if split.reward.mean is not None]
    count = sum(number for number, _ in rewards)
    counts = ("steps", "groups", "samples", "discarded")
    return {
        **{name: getattr(run, name) for name in ("id", "name", "path", "format", "reason")},
        "problems": run.problem_count(),
        "groups": sum(split.groups for split in splits),
        "samples": sum(split.samples for split in splits),
        "reward_mean": sum(number * mean for number, mean in rewards) / count if count else None,
        "splits": {
            split.name: {name: getattr(split, name) for name in counts}
            | {f"reward_{name}": getattr(split.reward, name) for name in ("mean", "min", "max")}
            for split in splits
        },
    }


def _print(runs: "Runs") -> None:
    rows: list[list[object]] = []
    for run in runs:
        head: list[object] = [run.id, run.format, run.problem_count()]
        for split in run.splits():
            counts = split.steps, split.groups, split.samples, split.discarded
            rows.append([*head, *counts, split.reward.mean, split.reward.min, split.reward.max, split.name])
            head = ["", "", ""]
        if not run.splits():
            rows.append([*head, *[None] * 7, without_samples(len(run.metric_names()))])
    names = "run format problems steps groups samples discarded reward min max split"
    print_table(names.split(), rows)
    for run in runs:
        for doubt in run.reward_doubts():
            show_line((f"{run.id}: {doubt}", "yellow"))
