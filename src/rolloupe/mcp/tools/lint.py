"""`lint`: what is wrong with the samples of a run."""

from typing import TYPE_CHECKING

from msgspec import to_builtins

from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.tools.base import Tool, WindowArguments, run_of

if TYPE_CHECKING:
    from rolloupe.api import Runs


def lint(runs: "Runs", asked: WindowArguments) -> Page:
    """List the rules that samples break, the certain ones first."""
    run, start = run_of(runs, asked), start_of(asked.cursor)
    found = run.lint(split=asked.split or None, steps=(asked.step_min, asked.step_max))
    facts = {
        "samples": found.samples,
        "discarded_among_them": found.discarded,
        "read": found.read,
        "checked": found.checked,
        "unchecked": to_builtins(found.unchecked),
    }
    rows = (to_builtins(one) for one in found.broken[start:])
    return Page(facts, rows, "broken", start)


LINT = Tool(
    "lint",
    "What is wrong with the samples: rules that are certain (is_certain), such as an advantage against the order of "
    "the rewards, then those that need a look, each with a sentence, how many samples break it, and the ids of some. "
    "Without a split, all splits count. Some rules read samples whole, `read` of them, spread evenly over the steps. "
    "Rules that could not be checked have a reason.",
    WindowArguments,
    lint,
)
