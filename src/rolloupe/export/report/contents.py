"""A report's statements on the run as a whole (what the reward pays for, the rules that samples break), and measures.

A measure ranks samples for a report on the worst of them.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from rolloupe import text, tokens
from rolloupe.derive.base import KL
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.insight.brief import brief
from rolloupe.insight.findings import findings
from rolloupe.insight.lint import lint
from rolloupe.insight.reward_components import parts
from rolloupe.model import RunLoss, Sample, SampleKey
from rolloupe.query import TokenPage, token_page
from rolloupe.query.steps.moments import series
from rolloupe.query.steps.summaries import first_split
from rolloupe.questions import BriefQuery, FindingQuery, LintQuery, PartQuery
from rolloupe.wire.encoding import Number, number


class ReportedFinding(Struct, kw_only=True):
    """A finding in a sentence, with the ids of the samples to read."""

    kind: str
    meaning: str
    """The meaning of its class."""
    text: str
    samples: Sequence[str]


class ReportedRule(Struct, kw_only=True):
    """A rule that samples break, with the ids of some."""

    is_certain: bool
    text: str
    words: str
    samples: Sequence[str]


class ReportedSentence(Struct, kw_only=True):
    """A sentence of the brief, with the ids of the samples that show it."""

    kind: str
    text: str
    samples: Sequence[str]


class ReportedInsight(Struct, kw_only=True):
    """What a report says of a split, in sentences; the samples may lie outside the report."""

    note: str
    """The extent of the scan, and, without findings, what it could have found."""
    brief: Sequence[ReportedSentence]
    """What is worth knowing of the run, in at most three sentences."""
    findings: Sequence[ReportedFinding]
    aside: Sequence[str]
    """Findings that a person dismissed as no hack, with their reasons if the report may show them."""
    parts: Sequence[str]
    """What each part of the reward pays for."""
    rules: Sequence[ReportedRule]
    checked: int
    """The number of rules that lint checked."""


def insight_of(run: OpenRun, splits: Sequence[str], aside: Mapping[str, str]) -> ReportedInsight | None:
    """Return the insight of a report's only split, else the run's first; `aside` maps dismissed findings to reasons."""
    split = splits[0] if len(splits) == 1 else ""
    try:
        found = findings(run, FindingQuery(split=split))
        rules = lint(run, LintQuery(split=found.split))
        formulas = parts(run, PartQuery(split=found.split)) if found.groups else None
    except NotFound:
        return None
    return ReportedInsight(
        note=text.clean(f"{found.split}: {found.note}"),
        brief=[
            ReportedSentence(kind=one.kind, text=text.clean(one.text), samples=one.evidence.samples)
            for one in brief(run, BriefQuery()).sentences
            if one.evidence.finding not in aside
        ],
        findings=[
            ReportedFinding(
                kind=finding.kind, meaning=found.meanings[finding.kind], text=text.clean(finding.text),
                samples=finding.samples.ids(),
            )
            for finding in found.findings
            if finding.name not in aside
        ],
        aside=[
            text.clean(": ".join(filter(None, (finding.title, aside[finding.name]))))
            for finding in found.findings
            if finding.name in aside
        ],
        parts=[text.clean(part.text) for part in formulas.parts] if formulas else [],
        rules=[
            ReportedRule(
                is_certain=rule.is_certain, text=text.clean(rule.text), words=rule.words, samples=rule.samples
            )
            for rule in rules.broken
        ],
        checked=len(rules.checked),
    )  # fmt: skip


class ReportedCurve(Struct, kw_only=True):
    """The mean reward of a split by step."""

    split: str
    steps: Sequence[int]
    means: Sequence[Number]


MOST_POINTS = 400
"""More points than the curve of a report has pixels."""


def reward_curve(run: OpenRun, splits: Sequence[str]) -> ReportedCurve | None:
    """Return the curve of the first of the splits; None if fewer than two steps have a reward."""
    split = splits[0] if splits else first_split(run)
    points = [point for point in series(run, "reward", split) if point.stats.count]
    shown = points[:: 1 + len(points) // MOST_POINTS]
    if len(shown) < 2:
        return None
    return ReportedCurve(
        split=split, steps=[point.step for point in shown], means=[number(point.stats.mean) for point in shown]
    )


class ReportedSample(NamedTuple):
    """A sample of a report."""

    run: str
    sample: Sample
    members: Sequence[SampleKey]
    """The samples of its group."""
    loss: RunLoss | None = None
    note: str = ""
    measured: "Measured | None" = None
    """The value that ranks it, in a report on the worst samples."""


class Measured(Struct, kw_only=True):
    """The value of a measure for one of the worst samples."""

    value: Number
    series: str = ""
    """The series whose largest value it is; empty for a measure of another kind."""
    token: int | None = None
    """The token with that value; if two rules are compared, the first token that they treat differently."""


LARGEST_OF = {"max_kl": KL, "max_mismatch_kl": ("mismatch_kl",)}
"""Measures that are the largest value of a series: the first of these series that a sample has."""


def mask_disagreement(page: TokenPage) -> Measured | None:
    """Return the share of trained tokens on which the recorded flags and a rule disagree, or else two rules."""
    if not page.series:
        return None
    trained = tokens.trained(page.series)
    advantages = page.series.get(tokens.ADVANTAGES, page.series.get(tokens.GROUP_ADVANTAGES, np.zeros(page.total)))
    flags = []
    if (recorded := page.series.get("is_masked")) is not None:
        flags.append(tokens.counts(recorded) & trained)
    flags += [rule.flags_of(page.series[name], advantages, trained).masked for rule, name in page.rules]
    if len(flags) < 2 or not trained.any():
        return None
    differs = flags[0] != flags[1]
    first = int(np.argmax(differs)) if differs.any() else None
    return Measured(value=float(np.count_nonzero(differs)) / int(np.count_nonzero(trained)), token=first)


def measured_by(column: str, value: float | str | None, sample: Sample) -> Measured:
    """Return the value of a column for a sample; if it is the largest value of a series, with its token."""
    metric = column.removeprefix("derived.").removeprefix("metric.")
    names = LARGEST_OF.get(metric) or [metric.removeprefix("max_"), metric.removesuffix("_max")]
    known = value if isinstance(value, str) else number(value)
    named = [name for name in names if name != metric]
    series = token_page(sample).series if named else {}
    name = next((name for name in named if name in series), None)
    if name is None:
        return Measured(value=known)
    values = np.where(tokens.trained(series), series[name], np.nan)
    token = None if np.isnan(values).all() else int(np.nanargmax(values))
    return Measured(value=known, series=name, token=token)


MEASURES: dict[str, Callable[[TokenPage], Measured | None]] = {"mask_disagreement": mask_disagreement}
"""Measures that need the tokens; every column of the run is a measure as well."""

TITLES = {"mask_disagreement": "Share of tokens on which two rules disagree"}


def worst_of(samples: Iterable[ReportedSample], measure: str, most: int) -> list[ReportedSample]:
    """Return the samples with the greatest values of a measure, the worst first. Holds at most `most` of them."""
    measured = ((sample, MEASURES[measure](token_page(sample.sample, loss=sample.loss))) for sample in samples)
    with_value = ((sample, value) for sample, value in measured if value is not None)
    worst = heapq.nlargest(most, with_value, key=lambda pair: float(pair[1].value or 0))
    return [sample._replace(measured=value) for sample, value in worst]
