"""`gradient`: which samples the gradient came from."""

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from rolloupe.errors import NotFound
from rolloupe.mcp.bins import BINS
from rolloupe.mcp.tools.base import Facts, tool_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolloupe.api import Run
    from rolloupe.insight.gradient import RunGradient, StepGroups


def _show(run: "Run", asked: Any, found: "RunGradient") -> tuple[Facts, list[Any]]:
    del run, asked
    if found.note:
        raise NotFound(found.note)
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
    return facts, rows


def _most(steps: "Sequence[StepGroups]") -> dict[str, int]:
    """The steps with most dead groups, by step."""
    most = sorted((one for one in steps if one.dead), key=lambda one: -one.dead)[:BINS]
    return {str(one.step): one.dead for one in sorted(most, key=lambda one: one.step)}


GRADIENT = tool_of(
    "gradient",
    "Where the gradient of the training samples came from: a sample pulls by the square of its advantage. Dead groups "
    "(equal rewards), groups all right or all wrong that differ only by other parts of the reward (shaping_only), and "
    "shares by environment, length and outcome, each with a filter for query: on_rewards without, on_std with the "
    "division by the standard deviation of the group, recorded by the advantages of the trainer.",
    "shares",
    _show,
)
