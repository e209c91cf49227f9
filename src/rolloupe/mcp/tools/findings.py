"""`findings`: what the reward pays for."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.insight.findings.records import MEANINGS
from rolloupe.mcp.tools.base import Facts, tool_of

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.findings import Finding, RunFindings


def _show(run: "Run", asked: Any, found: "RunFindings") -> tuple[Facts, list[Any]]:
    facts: Facts = {"note": found.note, "pending": found.pending, "correctness": found.correct or None}
    if not asked.cursor:
        steps = asked.step_min, asked.step_max
        facts["reward_parts"] = [part.text for part in run.parts(split=found.split, steps=steps, env=asked.env).parts]
    return facts, [_row(number, one, series=asked.series) for number, one in enumerate(found.findings, start=1)]


def _row(number: int, one: "Finding", *, series: bool) -> dict[str, Any]:
    row = {
        "finding": number, "class": one.kind, "text": one.text, "effect": one.effect, "z": one.z,
        "effect_on_correctness": one.correctness, "share_early": one.first, "share_late": one.last,
        "where": one.where, "pattern": one.pattern, "samples_to_read": len(one.samples.ids()),
    }  # fmt: skip
    row = {name: value for name, value in row.items() if value != ""}
    return row | ({"by_step": to_builtins(one.prevalence)} if series else {})


FINDINGS = tool_of(
    "findings",
    "What the reward pays for, within groups of the same prompt: phrases and behaviours, those that matter most first. "
    f"Classes: {'; '.join(f'{name} ({words})' for name, words in MEANINGS.items())}. "
    "Evidence, not a verdict: read the samples with finding_samples. `where` and `pattern` are arguments of query, for "
    "its `where`, and its `text` with `regex`.",
    "findings",
    _show,
    (
        "series",
        Annotated[bool, Meta(description="Add to each finding its prevalence and effect over the steps.")],
        False,
    ),
)
