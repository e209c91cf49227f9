"""Tools about what the reward pays for (`findings`, `finding_samples`), the gradient, and wrong samples (`lint`).

Each asks a declared question, and words its answer for an agent.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, to_builtins

from rolloupe.errors import NotFound
from rolloupe.insight.findings.records import MEANINGS
from rolloupe.mcp.answer import BINS
from rolloupe.mcp.tools.base import Facts, asks

if TYPE_CHECKING:
    from rolloupe.api import Run
    from rolloupe.insight.findings import Finding, RunFindings
    from rolloupe.insight.gradient import RunGradient
    from rolloupe.insight.lint import RunLint

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
