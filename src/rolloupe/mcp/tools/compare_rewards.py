"""`compare_rewards`: which of two runs earns the higher reward, or of two recipes with several seeds each."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.errors import BadQuery
from rolloupe.mcp.answer import Page, bounds_of, start_of
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of
from rolloupe.questions import FirstStep, LastStep

if TYPE_CHECKING:
    from rolloupe.api import Runs

MOST_RUNS = 16


class CompareRewardsArguments(RunArguments, frozen=True, kw_only=True):
    """Runs, a split and steps."""

    runs: Annotated[
        tuple[str, ...],
        Meta(description="The ids of two runs, or of the runs of two recipes, which differ in their seeds alone."),
    ] = ()
    split: Annotated[str, Meta(description="The split whose rewards are compared.")] = "train"
    step_min: FirstStep = None
    step_max: LastStep = None


def compare_rewards(runs: "Runs", asked: CompareRewardsArguments) -> Page:
    """Compare the mean rewards of two runs, or of two recipes."""
    from rolloupe.api import compare_rewards, sides_of

    ids = asked.runs or tuple(run.id for run in runs)
    if len(ids) > MOST_RUNS:
        raise BadQuery(f"{len(ids)} runs are too many: name at most {MOST_RUNS} in runs")
    chosen = [run_of(runs, RunArguments(run=run_id)) for run_id in ids]
    first, second = sides_of(chosen)
    found = compare_rewards(first, second, split=asked.split, step_min=asked.step_min, step_max=asked.step_max)
    facts: dict[str, Any] = to_builtins(found)
    steps, *_ = (curve["steps"] for curve in facts["curves"])
    means = [curve["means"] for curve in facts.pop("curves")]
    start = start_of(asked.cursor)
    rows = [
        {"steps": [steps[low], steps[high - 1]], "means": [sum(side[low:high]) / (high - low) for side in means]}
        for low, high in bounds_of(len(steps))
    ]
    return Page(facts, iter(rows[start:]), "curves", start)


COMPARE_REWARDS = Tool(
    "compare_rewards",
    "Says which of two runs earns the higher mean reward, by how much (difference, with its 95 % interval from low to "
    "high), and the step since which they differ for good. Of more runs, those whose configurations differ in their "
    "seeds alone are one recipe, and two recipes are compared. One run each says nothing about their recipes.",
    CompareRewardsArguments,
    compare_rewards,
)
