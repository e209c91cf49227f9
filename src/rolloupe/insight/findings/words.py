"""The sentences of findings."""

from collections.abc import Sequence

from rolloupe.derive import METRICS
from rolloupe.insight.findings.records import Finding, FindingClass
from rolloupe.query import FeaturePieces, WindowFacts

ENDINGS: dict[FindingClass, str] = {
    "suspect": "correctness does not follow",
    "unverified": "nothing in the run says whether the answers are correct",
    "earned": "correctness goes with it",
    "watch": "it is not rising",
    "drift": "the reward does not pay for it",
}


def sentence_of(kind: FindingClass, title: str, behaviour: str, effect: float, first: float, last: float) -> str:
    """One sentence about a finding."""
    metric = METRICS[behaviour] if behaviour else None
    begin = title[:1].upper() + title[1:]
    shares = f"in {first:.0%} of the responses early, {last:.0%} late" if first != last else f"in {last:.0%} of them"
    if kind == "drift":
        return f"{begin} is on the rise, {shares}; {ENDINGS[kind]}."
    verb = "earns" if effect >= 0 else "costs"
    unit = " a doubling" if metric is not None and metric.unit == "characters" else ""
    return f"{begin} {verb} {effect:+.2g}{unit} over its siblings, {shares}; {ENDINGS[kind]}."


def note_of(
    found: Sequence[Finding],
    facts: WindowFacts,
    pieces: FeaturePieces,
    tested: int,
    expected: float,
    smallest: float,
    share: float,
) -> str:
    """What was looked at, in sentences."""
    if not facts.samples:
        waits = f" {pieces.pending:,} samples wait for the index." if pieces.pending else ""
        return f"Nothing to compare: no sample with a reward is indexed.{waits}"
    if not facts.groups:
        return f"Nothing to compare: no two siblings among {facts.samples:,} samples have different rewards."
    scanned = f"{facts.samples:,} of {pieces.samples:,}" if facts.samples < pieces.samples else f"{facts.samples:,}"
    looked = (
        f"Scanned {scanned} samples; in {facts.groups:,} groups the rewards differ. Tested {tested:,} features, of "
        f"which chance alone would report {expected:.2g}."
    )
    if any(one.kind != "drift" for one in found):
        return looked
    return (
        f"{looked} Nothing above threshold: the smallest effect that this run could have shown is {smallest:.2g} "
        f"reward by a use, for a phrase in {share:.0%} of the samples."
    )
