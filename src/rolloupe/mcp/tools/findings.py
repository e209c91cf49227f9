"""`findings`: what the reward pays for."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.insight.findings.records import MEANINGS
from rolloupe.mcp.answer import Page, start_of
from rolloupe.mcp.tools.base import Tool, WindowArguments, run_of

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.insight.findings import Finding, RunFindings


class FindingArguments(WindowArguments, frozen=True, kw_only=True):
    """The part of a run to look at, and what counts as correct."""

    env: Annotated[str | None, Meta(description="Only samples of this environment.")] = None
    correct: Annotated[
        str, Meta(description="The sample metric that says what is correct, if its name does not say so.")
    ] = ""


class ListArguments(FindingArguments, frozen=True, kw_only=True):
    """The same, with or without curves."""

    series: Annotated[bool, Meta(description="Add to each finding its prevalence and effect over the steps.")] = False


def found_in(run: "Run", asked: FindingArguments) -> "RunFindings":
    """Return the findings of a part of a run."""
    steps = asked.step_min, asked.step_max
    return run.findings(split=asked.split or None, steps=steps, env=asked.env, correct=asked.correct)


def findings(runs: "Runs", asked: ListArguments) -> Page:
    """List the findings of a part of a run."""
    run, start = run_of(runs, asked, texts=True), start_of(asked.cursor)
    found = found_in(run, asked)
    facts: dict[str, Any] = {"note": found.note, "pending": found.pending, "correctness": found.correct or None}
    if not start:
        steps = asked.step_min, asked.step_max
        facts["reward_parts"] = [one.text for one in run.parts(split=found.split, steps=steps, env=asked.env).parts]
    rows = (
        _row(number, one, series=asked.series) for number, one in enumerate(found.findings, start=1) if number > start
    )
    return Page(facts, rows, "findings", start)


def _row(number: int, one: "Finding", *, series: bool) -> dict[str, Any]:
    row = {
        "finding": number, "class": one.kind, "text": one.text, "effect": one.effect, "z": one.z,
        "effect_on_correctness": one.correctness, "share_early": one.first, "share_late": one.last,
        "where": one.where, "pattern": one.pattern, "samples_to_read": len(one.samples.ids()),
    }  # fmt: skip
    row = {name: value for name, value in row.items() if value != ""}
    return row | ({"by_step": to_builtins(one.prevalence)} if series else {})


FINDINGS = Tool(
    "findings",
    "What the reward pays for, within groups of the same prompt: phrases and behaviours, those that matter most first. "
    f"Classes: {'; '.join(f'{name} ({words})' for name, words in MEANINGS.items())}. "
    "Evidence, not a verdict: read the samples with finding_samples. `where` and `pattern` are arguments of query, for "
    "its `where`, and its `text` with `regex`.",
    ListArguments,
    findings,
)
