"""`gradient`: which groups the gradient came from."""

from typing import TYPE_CHECKING

from msgspec import to_builtins

from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.bins import BINS
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of

if TYPE_CHECKING:
    from rolloupe.api import Runs


def gradient(runs: "Runs", asked: RunArguments) -> Page:
    """Say where the gradient of the training samples came from, then list shares by environment."""
    run, start = run_of(runs, asked), start_of(asked.cursor)
    found = run.gradient()
    facts = {
        "groups": found.groups, "dead_groups": found.dead, "effective_groups": found.effective,
        "correctness": found.correct or None, "shaping_only": to_builtins(found.shaping),
        "steps_with_most_dead_groups": _most(found.dead_by_step),
    }  # fmt: skip
    return Page(facts, (to_builtins(one) for one in found.by_env[start:]), "environments", start)


def _most(dead: dict[int, int]) -> dict[str, int]:
    """The steps with most dead groups, by step."""
    most = sorted(dead, key=lambda step: -dead[step])[:BINS]
    return {str(step): dead[step] for step in sorted(most)}


GRADIENT = Tool(
    "gradient",
    "Where the gradient of the training samples came from, as shares of the squared advantages of groups: dead groups "
    "(equal rewards), groups all right or all wrong that differ only by other parts of the reward (shaping_only), and "
    "each environment; on_rewards without, on_std with the division by the standard deviation of the group.",
    RunArguments,
    gradient,
)
