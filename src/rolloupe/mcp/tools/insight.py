"""Tools about what the reward pays for, the gradient, wrong samples, two windows of steps, and two runs.

Each answers a question that other faces ask too, and words the answer for an agent.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.api.arguments import sample_query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.insight.findings.trend import MEANINGS
from rolloupe.mcp.answer import BINS, Page, bounds_of, start_of
from rolloupe.mcp.tools.base import Facts, RunArguments, asks, run_of, split_of, tool
from rolloupe.questions import FirstStep, LastStep, UsualSplit

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.insight.findings import Finding, RunFindings
    from rolloupe.insight.gradient import RunGradient
    from rolloupe.insight.lint import RunLint
    from rolloupe.query import SeriesPoint

MOST_HITS = 3
AROUND = 100
"""How many characters of context a hit has on either side."""

SERIES = Annotated[bool, Meta(description="Add to each finding its prevalence and effect over the steps.")]
NUMBER = Annotated[int, Meta(description="The number of the finding; findings with the same arguments has it.")]


@asks("findings", "findings", ("series", SERIES, False))
def findings(run: "Run", asked: Any, answer: "RunFindings") -> tuple[Facts, Iterator[Any]]:
    """What the reward pays for, within groups of the same prompt: phrases and behaviours, those that matter most first.
    Classes: CLASSES. Evidence, not a verdict: read the samples with finding_samples. `where` and `pattern` are
    arguments of query, for its `where`, and its `text` with `regex`.
    """
    facts: Facts = {"note": answer.note, "pending": answer.pending, "correctness": answer.correct or None}
    if not asked.cursor:
        steps = asked.step_min, asked.step_max
        facts["reward_parts"] = [part.text for part in run.parts(split=answer.split, steps=steps, env=asked.env).parts]

    def rows() -> Iterator[dict[str, Any]]:
        for number, finding in enumerate(answer.findings, start=1):
            row = {
                "finding": number, "class": finding.kind, "text": finding.text, "effect": finding.effect,
                "z": finding.z, "effect_on_correctness": finding.correctness, "share_early": finding.first,
                "share_late": finding.last, "where": finding.where, "pattern": finding.pattern,
                "samples_to_read": len(finding.samples.ids()),
            }  # fmt: skip
            by_step = {"by_step": to_builtins(finding.prevalence)} if asked.series else {}
            yield {name: value for name, value in row.items() if value != ""} | by_step

    return facts, rows()


findings = findings._replace(
    about=findings.about.replace("CLASSES", "; ".join(f"{name} ({words})" for name, words in MEANINGS.items()))
)


@asks("findings", "samples", ("finding", NUMBER))
def finding_samples(run: "Run", asked: Any, answer: "RunFindings") -> tuple[Facts, Iterator[Any]]:
    """The samples that show a finding: pairs of siblings of which the one with more of it (less, if it is punished) won
    though it is no more correct, the earliest case, a counterexample; with prompt and response, cut in the middle.
    """
    if not 1 <= asked.finding <= len(answer.findings):
        raise NotFound(f"no finding {asked.finding}: there are {len(answer.findings)}, from 1 on")
    finding, correct = answer.findings[asked.finding - 1], answer.correct

    def rows() -> Iterator[dict[str, Any]]:
        for sample_id, why in reasons(finding, correct):
            sample, texts = run.sample(sample_id), run.texts(sample_id)
            row = sample.row
            facts: Facts = {"id": sample_id, "why": why, "reward": row.reward, "status": row.status}
            facts |= {correct: row.metrics.get(correct)} if correct else {}
            if finding.pattern:
                places = run.spans(sample_id, finding.pattern, regex=True, roles=["response"])[:MOST_HITS]
                shown = [(sample.turns[at.turn].parts[at.part].text, at) for at in places if at.field != "arguments"]
                facts["hits"] = [text[max(0, at.start - AROUND) : at.stop + AROUND] for text, at in shown]
            yield facts | {"prompt": texts.prompt, "response": texts.response}

    return {"class": finding.kind, "text": finding.text}, rows()


def reasons(finding: "Finding", correct: str) -> Iterator[tuple[str, str]]:
    """Yield each sample of a reading list, and why it is there. If a finding is punished, the sample with less of it
    wins.
    """
    read, (won, lost) = finding.samples, ("less", "more") if finding.effect < 0 else ("more", "less")
    though = ", though it is no more correct than the next" if correct else ""
    for place, (first, other) in enumerate(read.pairs, start=1):
        yield first, f"pair {place}: has {won} of it and the better reward{though}"
        yield other, f"pair {place}: its sibling with {lost} of it and the worse reward"
    if read.earliest:
        yield read.earliest, "the earliest case"
    if read.counterexample:
        has = "less of it" if finding.effect < 0 else "it"
        yield read.counterexample, f"a counterexample: has {has}, and a worse reward than its siblings"


@asks("gradient", "shares")
def gradient(_: "Run", __: Any, answer: "RunGradient") -> tuple[Facts, list[Any]]:
    """Where the gradient of the training samples came from: a sample pulls by the square of its advantage. Dead groups
    (equal rewards), groups all right or all wrong that differ only by other parts of the reward (shaping_only), and
    shares by environment, length and outcome, each with a filter for query: on_rewards without, on_std with the
    division by the standard deviation of the group, recorded by the advantages of the trainer.
    """
    if answer.note:
        raise NotFound(answer.note)
    most = sorted((step for step in answer.by_step if step.dead), key=lambda step: -step.dead)[:BINS]
    facts = {
        "trained_samples": answer.samples, "discarded_samples": answer.discarded,
        "groups": answer.groups, "dead_groups": answer.dead, "groups_of_one": answer.single,
        "effective_groups": answer.effective, "correctness": answer.correct or None,
        "groups_all_right": answer.all_right, "groups_all_wrong": answer.all_wrong,
        "shaping_only": to_builtins(answer.shaping), "shaping_only_samples": answer.shaping_samples,
        "prompts_of_several_steps": to_builtins(answer.prompts),
        "steps_with_most_dead_groups": {str(step.step): step.dead for step in sorted(most, key=lambda one: one.step)},
        "dead_samples": answer.dead_samples,
    }  # fmt: skip
    cuts = (("env", answer.by_env), ("length", answer.by_length), ("outcome", answer.by_outcome))
    return facts, [{"by": by, **to_builtins(share)} for by, shares in cuts for share in shares]


@asks("lint", "broken")
def lint(_: "Run", __: Any, answer: "RunLint") -> tuple[Facts, list[Any]]:
    """What is wrong with the samples: rules that are certain (is_certain), such as an advantage against the order of
    the rewards, then those that need a look, each with a sentence, how many samples break it, and the ids of some.
    Without a split, all splits count. Some rules read samples whole, `read` of them, spread evenly over the steps.
    Rules that could not be checked have a reason.
    """
    facts = {
        "samples": answer.samples, "discarded_among_them": answer.discarded, "read": answer.read,
        "checked": answer.checked, "unchecked": to_builtins(answer.unchecked),
    }  # fmt: skip
    return facts, to_builtins(answer.broken)


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
