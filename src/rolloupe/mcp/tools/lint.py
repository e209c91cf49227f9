"""`lint`: what is wrong with the samples of a run."""

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from rolloupe.mcp.tools.base import Facts, tool_of

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.lint import RunLint


def _show(run: "Run", asked: Any, found: "RunLint") -> tuple[Facts, list[Any]]:
    del run, asked
    facts = {
        "samples": found.samples,
        "discarded_among_them": found.discarded,
        "read": found.read,
        "checked": found.checked,
        "unchecked": to_builtins(found.unchecked),
    }
    return facts, to_builtins(found.broken)


LINT = tool_of(
    "lint",
    "What is wrong with the samples: rules that are certain (is_certain), such as an advantage against the order of "
    "the rewards, then those that need a look, each with a sentence, how many samples break it, and the ids of some. "
    "Without a split, all splits count. Some rules read samples whole, `read` of them, spread evenly over the steps. "
    "Rules that could not be checked have a reason.",
    "broken",
    _show,
)
