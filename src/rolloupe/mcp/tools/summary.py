"""`summary`: the contents of a run, and what to ask next."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import SplitSummary

NEXT = {
    "findings": "what the reward pays for, and whether correctness follows",
    "finding_samples": "the samples that show one finding",
    "lint": "what is wrong with the samples, certain rules first",
    "query": "samples that meet a condition, or contain a text",
    "sample": "one sample whole, turn by turn; its token series on request",
    "compare_steps": "what changed between two windows of steps; curves on request",
    "gradient": "which samples the gradient came from, and how much of it other parts of the reward made",
}
"""What each other tool is for."""

NAMES = 10
"""How many names are in one row."""


def summary(runs: "Runs", asked: RunArguments) -> Page:
    """Describe a run, or list the runs if there are several."""
    start = start_of(asked.cursor)
    if not asked.run and len(runs) > 1:
        return Page({"tools": NEXT, "next": "name one of the runs"}, islice(_list(runs), start, None), "runs", start)
    run = run_of(runs, asked)
    return Page(_facts(run), islice(_contents(run), start, None), "contents", start)


def _list(runs: "Runs") -> Iterator[dict[str, Any]]:
    for run in runs:
        yield {"id": run.id, "format": run.format, "splits": [one.name for one in run.splits()]}


def _facts(run: "Run") -> dict[str, Any]:
    return {
        "tools": NEXT, "id": run.id, "name": run.name, "format": run.format,
        "unreadable_records": run.problem_count(), "parts_not_indexed": len(run.failures()),
    }  # fmt: skip


def _contents(run: "Run") -> Iterator[dict[str, Any]]:
    """The splits, then the names to ask for."""
    yield from map(_split, run.splits())
    metrics, tags = run.value_names()
    for kind, names in (("sample_metrics", metrics), ("tags", tags), ("trainer_metrics", run.metric_names())):
        for start in range(0, len(names), NAMES):
            yield {kind: names[start : start + NAMES]}


def _split(one: "SplitSummary") -> dict[str, Any]:
    return {
        "split": one.name, "steps": one.steps, "first_step": one.first_step, "last_step": one.last_step,
        "groups": one.groups, "samples": one.samples, "discarded": one.discarded,
        "reward_mean": one.reward.mean, "reward_min": one.reward.min, "reward_max": one.reward.max,
        "without_reward": one.reward.excluded,
    }  # fmt: skip


SUMMARY = Tool(
    "summary",
    "Start here: the runs, or of one run its splits, steps, samples, rewards and the names of its metrics; and what "
    "the other tools answer.",
    RunArguments,
    summary,
)
