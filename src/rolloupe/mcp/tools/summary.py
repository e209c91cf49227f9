"""`summary`: the contents of a run, and what to ask next."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.tools.base import RunArguments, Tool, run_of
from rolloupe.questions import QUESTIONS

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

NEXT = {
    "findings": "what the reward pays for, and whether correctness follows",
    "finding_samples": "the samples that show one finding",
    "lint": "what is wrong with the samples, certain rules first",
    "query": "samples that meet a condition, or contain a text",
    "sample": "one sample whole, turn by turn; its token series on request",
    "compare_steps": "what changed between two windows of steps; curves on request",
    "gradient": "which samples the gradient came from, and how much of it other parts of the reward made",
}
NEXT |= {name: question.about for name, question in QUESTIONS.items() if question.has_tool and name not in NEXT}
"""What each other tool is for."""

NAMES = 10
"""How many names are in one row."""


def summary(runs: "Runs", asked: RunArguments) -> Page:
    """Describe a run, or list the runs if there are several."""
    start = start_of(asked.cursor)
    if not asked.run and len(runs) > 1:
        listed = [
            {"id": run.id, "format": run.format, "splits": [split.name for split in run.splits()]}
            for run in islice(runs, start, None)
        ]
        return Page({"tools": NEXT, "next": "name one of the runs"}, listed, "runs", start)
    run = run_of(runs, asked)
    facts = {
        "tools": NEXT, "id": run.id, "name": run.name, "format": run.format,
        "unreadable_records": run.problem_count(), "parts_not_indexed": len(run.failures()),
    }  # fmt: skip
    return Page(facts, islice(_contents(run), start, None), "contents", start)


def _contents(run: "Run") -> Iterator[dict[str, Any]]:
    """Yield the splits, then the names to ask for."""
    for split in run.splits():
        names = ("steps", "first_step", "last_step", "groups", "samples", "discarded")
        rewards = {f"reward_{name}": getattr(split.reward, name) for name in ("mean", "min", "max")}
        counts = {name: getattr(split, name) for name in names}
        yield {"split": split.name, **counts, **rewards, "without_reward": split.reward.excluded}
    metrics, tags = run.value_names()
    for kind, known in (("sample_metrics", metrics), ("tags", tags), ("trainer_metrics", run.metric_names())):
        for start in range(0, len(known), NAMES):
            yield {kind: known[start : start + NAMES]}


SUMMARY = Tool(
    "summary",
    "Start here: the runs, or of one run its splits, steps, samples, rewards and the names of its metrics; and what "
    "the other tools answer.",
    RunArguments,
    summary,
)
