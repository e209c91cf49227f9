"""`rolloupe compare`: say which of two runs earns the higher reward, and how sure that is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from rolloupe.cli.frame import NOTHING, OK
from rolloupe.cli.options import JSON, command
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import dumps, tell
from rolloupe.errors import BadQuery
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Which runs to compare, and over which steps."""

    ids: tuple[str, ...] = option((), "A run, by its id. Give two, unless two runs are there.", "ID", flags=("--run",))
    split: str = option("train", "The split whose rewards are compared.", "NAME")
    step_min: int | None = option(None, "The first step. Default: the middle of the common steps.", "N")
    step_max: int | None = option(None, "The last step, inclusive.", "N")
    as_json: bool = option(False, **JSON)


@command(has_run=False)
def compare(asked: CompareOptions, place: RunPaths) -> int:
    """Say which of two runs earns the higher reward, by how much, and the step at which they part.

    The difference is that of the mean rewards over the second half of the steps that both runs have, or over the steps
    that you choose; where both answer the same prompts at a step, only these are compared. Its 95 % interval takes into
    account that neighbouring steps are alike. One run of each recipe says nothing about the recipes: a different seed
    may reverse the result.

    With --json, the object has runs, text, better (the id of the better run, empty if the interval includes zero),
    difference (of the better run over the other), low, high, since (null if the runs do not part), split, steps, paired
    and curves (the mean reward of each run at each common step).

    Examples:
      rolloupe compare RUN_A RUN_B  # Which of two runs is better?
      rolloupe compare RUNS_DIR --run a --run b  # Two of several runs
      rolloupe compare RUNS_DIR --run a --run b --json | jq .difference  # For a program
    """
    from rolloupe.api import compare_rewards

    with opened(place) as runs:
        first, second = _two(runs, asked.ids)
        found = compare_rewards(first, second, split=asked.split, step_min=asked.step_min, step_max=asked.step_max)
        tell(dumps(msgspec.to_builtins(found)) if asked.as_json else found.text)
        return OK if found.difference is not None else NOTHING


def _two(runs: "Runs", ids: tuple[str, ...]) -> "tuple[Run, Run]":
    chosen = [runs.run(run_id) for run_id in ids] if ids else [*runs]
    if len(chosen) != 2:
        names = ", ".join(run.id for run in runs[:20])
        raise BadQuery(f"choose two runs: --run A --run B. There are {len(runs)}: {names}")
    return chosen[0], chosen[1]
