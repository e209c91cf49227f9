"""`gradient`: which samples the gradient came from."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, to_builtins

from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.bins import BINS
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolloupe.api import Runs
    from rolloupe.insight.gradient import StepGroups


class GradientArguments(RunArguments, frozen=True, kw_only=True):
    """The training samples to look at, and what counts as correct."""

    step_min: Annotated[int | None, Meta(description="The first step.")] = None
    step_max: Annotated[int | None, Meta(description="The last step, inclusive.")] = None
    env: Annotated[str | None, Meta(description="Only samples of this environment.")] = None
    correct: Annotated[
        str, Meta(description="The sample metric that says what is correct, if its name does not say so.")
    ] = ""


def gradient(runs: "Runs", asked: GradientArguments) -> Page:
    """Say where the gradient of the training samples came from, then list the shares."""
    run, start = run_of(runs, asked), start_of(asked.cursor)
    found = run.gradient(steps=(asked.step_min, asked.step_max), env=asked.env, correct=asked.correct)
    facts = {
        "trained_samples": found.samples, "discarded_samples": found.discarded,
        "groups": found.groups, "dead_groups": found.dead, "groups_of_one": found.single,
        "effective_groups": found.effective,
        "correctness": found.correct or None, "groups_all_right": found.all_right, "groups_all_wrong": found.all_wrong,
        "shaping_only": to_builtins(found.shaping), "shaping_only_samples": found.shaping_samples,
        "prompts_of_several_steps": to_builtins(found.prompts),
        "steps_with_most_dead_groups": _most(found.by_step), "dead_samples": found.dead_samples,
    }  # fmt: skip
    cuts = (("env", found.by_env), ("length", found.by_length), ("outcome", found.by_outcome))
    rows = [{"by": by, **to_builtins(one)} for by, shares in cuts for one in shares]
    return Page(facts, rows[start:], "shares", start)


def _most(steps: "Sequence[StepGroups]") -> dict[str, int]:
    """The steps with most dead groups, by step."""
    most = sorted((one for one in steps if one.dead), key=lambda one: -one.dead)[:BINS]
    return {str(one.step): one.dead for one in sorted(most, key=lambda one: one.step)}


GRADIENT = Tool(
    "gradient",
    "Where the gradient of the training samples came from: a sample pulls by the square of its advantage. Dead groups "
    "(equal rewards), groups all right or all wrong that differ only by other parts of the reward (shaping_only), and "
    "shares by environment, length and outcome, each with a filter for query: on_rewards without, on_std with the "
    "division by the standard deviation of the group, recorded by the advantages of the trainer.",
    GradientArguments,
    gradient,
)
