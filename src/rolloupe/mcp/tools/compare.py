"""What changed between two windows of steps (`compare_steps`), and which of two runs is better (`compare_rewards`)."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.api.arguments import sample_query
from rolloupe.errors import BadQuery
from rolloupe.mcp.answer import Page, bounds_of, start_of
from rolloupe.mcp.tools.base import RunArguments, run_of, split_of, tool
from rolloupe.questions import FirstStep, LastStep, UsualSplit

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query import SeriesPoint

MOST_SERIES = 3


class CompareArguments(RunArguments, frozen=True, kw_only=True):
    """Two windows of steps, and curves."""

    split: UsualSplit = ""
    before: Annotated[
        tuple[int, int] | None, Meta(description="The first and the last step. Default: the first third of all.")
    ] = None
    after: Annotated[
        tuple[int, int] | None, Meta(description="The first and the last step. Default: the last third of all.")
    ] = None
    series: Annotated[
        tuple[str, ...],
        Meta(description="Columns of which to add the curve, at most 3, over at most 40 bins of steps."),
    ] = ()


@tool
def compare_steps(runs: "Runs", asked: CompareArguments) -> Page:
    """Compares two windows of steps: how many samples were truncated or discarded, and the mean of the reward, the
    lengths and every sample metric. With `series`, curves over all steps.
    """
    needs_texts = any(name.startswith("derived.") for name in asked.series)
    run, start = run_of(runs, asked, texts=needs_texts), start_of(asked.cursor)
    split = split_of(run, asked.split)
    steps = [one.step for one in run.steps(split)]
    if not steps:
        raise BadQuery("the split has no steps")
    third = max(1, len(steps) // 3)
    before = asked.before or (steps[0], steps[third - 1])
    after = asked.after or (steps[-third], steps[-1])
    facts: dict[str, Any] = {"split": split, "before": _facts(run, split, before), "after": _facts(run, split, after)}
    if len(asked.series) > MOST_SERIES:
        raise BadQuery(f"{len(asked.series)} curves are too many: ask for at most {MOST_SERIES}")
    if asked.series:
        facts["series"] = {name: _curve(run.series(name, split)) for name in asked.series}
    return Page(facts, islice(_rows(run, split, before, after), start, None), "means", start)


def _facts(run: "Run", split: str, window: tuple[int, int]) -> dict[str, Any]:
    """Return the number of samples of a window, and the shares of truncated and of discarded ones."""
    samples = run.total(sample_query(split=split, steps=window))
    if not samples:
        raise BadQuery(f"no samples from step {window[0]} to {window[1]}")
    truncated = run.total(sample_query(split=split, steps=window, where="status = truncated"))
    discarded = run.total(sample_query(split=split, steps=window, trained=False))
    return {
        "steps": list(window), "samples": samples,
        "truncated_share": truncated / samples, "discarded_share": discarded / samples,
    }  # fmt: skip


def _rows(run: "Run", split: str, before: tuple[int, int], after: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Yield each column with its mean in both windows."""
    for name in run.columns():
        if name.startswith("derived."):
            continue
        points = run.series(name, split)
        first, last = (_mean([point for point in points if low <= point.step <= high]) for low, high in (before, after))
        if first is not None or last is not None:
            change = None if first is None or last is None else last - first
            yield {"column": name, "before": first, "after": last, "change": change}


def _mean(points: "Sequence[SeriesPoint]") -> float | None:
    """Return the mean over all samples of some steps."""
    stats = [one.stats for one in points if one.stats.mean is not None]
    count = sum(one.count for one in stats)
    return math.fsum(one.count * (one.mean or 0.0) for one in stats) / count if count else None


def _curve(points: "Sequence[SeriesPoint]") -> dict[str, Any]:
    bounds = bounds_of(len(points))
    means = [_mean(points[low:high]) for low, high in bounds]
    return {"steps": [points[low].step for low, _ in bounds], "means": means}


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


@tool
def compare_rewards(runs: "Runs", asked: CompareRewardsArguments) -> Page:
    """Says which of two runs earns the higher mean reward, by how much (difference, with its 95% interval from low to
    high), and the step since which they differ for good. Of more runs, those whose configurations differ in their
    seeds alone are one recipe, and two recipes are compared. One run each says nothing about their recipes.
    """
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
