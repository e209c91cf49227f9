"""`rolloupe compare`: say which of two runs earns the higher reward, and how sure that is."""

from dataclasses import dataclass

import msgspec

from rolloupe.cli.options import JSON, StepRange, command, steps_of
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import NOTHING, OK, tell, tell_json
from rolloupe.errors import BadQuery
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Which runs to compare, and over which steps."""

    ids: tuple[str, ...] = option(
        (), "A run, by its id; two runs, or those of two recipes. Default: all.", "ID", flags=("--run",)
    )
    split: str = option("train", "The split whose rewards are compared.", "NAME")
    steps: StepRange = option(
        None, "Only these steps, both ends included. Default: the second half of the common steps.", "A:B",
        convert=steps_of,
    )  # fmt: skip
    as_json: bool = option(False, **JSON)


@command(has_run=False)
def compare(asked: CompareOptions, place: RunPaths) -> int:
    """Say which of two runs earns the higher reward, by how much, and the step at which they part.

    The difference is that of the mean rewards over the second half of the steps that both runs have, or over the steps
    that you choose; where both answer the same prompts at a step, only these are compared. Its 95% interval takes into
    account that neighbouring steps are alike; with fewer than 8 steps, it is over the prompts that both answer, at
    least 30. One run of each recipe says nothing about the recipes: a different seed may reverse the result. Runs whose
    configurations differ in their seeds alone are one recipe: of more than two runs, two recipes are compared.

    With --json, the object has runs, recipes (true if each side is several seeds of one recipe), text, better (the id
    of the better run, empty if the interval includes zero), difference (of the better run over the other), low, high,
    prompts (how many the interval is over; 0 if it is over steps or runs), since (null if the runs do not part), split,
    steps, paired and curves (the mean reward of each run at each common step).

    Examples:
      rolloupe compare RUN_A RUN_B  # Which of two runs is better?
      rolloupe compare RUNS_DIR --run a --run b  # Two of several runs
      rolloupe compare RUNS_DIR --steps 100:200  # All seeds of two recipes, over some steps
      rolloupe compare RUNS_DIR --run a --run b --json | jq .difference  # For a program
    """
    from rolloupe.api import compare_rewards, sides_of

    with opened(place) as runs:
        try:
            first, second = sides_of([runs.run(run_id) for run_id in asked.ids] or [*runs])
        except BadQuery as error:
            names = ", ".join(run.id for run in runs[:20])
            raise BadQuery(f"{error}. Next: --run A --run B. The runs are {names}") from None
        low, high = asked.steps or (None, None)
        found = compare_rewards(first, second, split=asked.split, step_min=low, step_max=high)
        if asked.as_json:
            tell_json(msgspec.to_builtins(found))
        else:
            tell(found.text)
        return OK if found.difference is not None else NOTHING
