"""What a report says of the run as a whole: what the reward pays for, and which rules samples break."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rolloupe import text
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.insight.findings import findings
from rolloupe.insight.lint import lint
from rolloupe.insight.parts import parts
from rolloupe.questions import FindingQuery, LintQuery, PartQuery


class ReportedFinding(Struct, kw_only=True):
    """A finding in a sentence, with the ids of the samples to read."""

    kind: str
    meaning: str
    """What its class means."""
    text: str
    samples: Sequence[str]


class ReportedRule(Struct, kw_only=True):
    """A rule that samples break, with the ids of some."""

    is_certain: bool
    text: str
    words: str
    samples: Sequence[str]


class ReportedInsight(Struct, kw_only=True):
    """What a report says of a split, in sentences; the samples may lie outside the report."""

    note: str
    """What was scanned, and if nothing was found, what could have been."""
    findings: Sequence[ReportedFinding]
    aside: Sequence[str]
    """Those that a person set aside as no hack, each with the reason unless it is left out."""
    parts: Sequence[str]
    """What each part of the reward pays for."""
    rules: Sequence[ReportedRule]
    checked: int
    """The number of rules that lint checked."""


def insight_of(run: OpenRun, splits: Sequence[str], aside: Mapping[str, str]) -> ReportedInsight | None:
    """Look at the one split of a report, or at the first of the run; None for a split without samples.

    `aside` has the reasons by phrase or behaviour; empty ones are left out.
    """
    split = splits[0] if len(splits) == 1 else ""
    try:
        found = findings(run, FindingQuery(split=split))
        rules = lint(run, LintQuery(split=found.split))
        formulas = parts(run, PartQuery(split=found.split)) if found.groups else None
    except NotFound:
        return None
    own = {one.name: one for one in found.findings}
    return ReportedInsight(
        note=text.clean(f"{found.split}: {found.note}"),
        findings=[
            ReportedFinding(
                kind=one.kind, meaning=found.meanings[one.kind], text=text.clean(one.text), samples=one.samples.ids()
            )
            for name, one in own.items()
            if name not in aside
        ],
        aside=[
            text.clean(": ".join(filter(None, (one.title, aside[name])))) for name, one in own.items() if name in aside
        ],
        parts=[text.clean(one.text) for one in formulas.parts] if formulas else [],
        rules=[
            ReportedRule(
                is_certain=one.is_certain, text=text.clean(one.text), words=one.words,
                samples=one.samples,
            )
            for one in rules.broken
        ],
        checked=len(rules.checked),
    )  # fmt: skip
