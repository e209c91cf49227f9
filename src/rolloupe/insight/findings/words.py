"""The sentences of findings."""

from collections.abc import Sequence

from rolloupe.derive import METRICS
from rolloupe.insight.findings.records import Finding, FindingClass
from rolloupe.insight.findings.trend import NEARLY_ALL, Trend
from rolloupe.query import LEAST_GROUPS, FeaturePieces, WindowFacts

ENDINGS: dict[FindingClass, str] = {
    "suspect": "correctness does not follow",
    "unverified": "nothing in the run says whether the answers are correct",
    "earned": "correctness goes with it",
    "watch": "there is no clear rise",
    "drift": "the reward does not clearly pay for it",
}


FEW = 0.001
"""Nobody needs more digits of a smaller number of false findings."""


TITLE_WORDS = 8
"""Of the title of what is also on a card, so many are shown."""


def also_of(titles: Sequence[str]) -> str:
    """A sentence about what else is on a card; empty without any."""
    short = [_short(one) for one in titles]
    return f" Also seen as {' and '.join(filter(None, (', '.join(short[:-1]), *short[-1:])))}." if short else ""


def _short(title: str) -> str:
    words = title.split(" ")
    cut = " ".join((*words[:TITLE_WORDS], "…”" if title.startswith("“") else "…"))
    return title if len(words) <= TITLE_WORDS + 1 else cut


def sentence_of(kind: FindingClass, title: str, behaviour: str, effect: float, trend: Trend) -> str:
    """One sentence about a finding."""
    begin, common = title[:1].upper() + title[1:], _common(trend, METRICS[behaviour].unit if behaviour else "uses")
    if kind == "drift":
        return f"{begin} is on the rise, {common}; {ENDINGS[kind]}."
    each = " with each doubling" if behaviour and METRICS[behaviour].unit == "characters" else ""
    gain = f"earns {effect:+.2g} over" if effect >= 0 else f"costs {-effect:.2g} against"
    return f"{begin} {gain} its siblings{each}, {common}; {ENDINGS[kind]}."


def _common(trend: Trend, unit: str) -> str:
    """How common a feature is, early and late: in which share of the responses, or how much of it is in all of them."""
    if unit and trend.is_common:
        return f"typically {_amount(trend.early)} {unit} early, {_amount(trend.late)} late"
    first, last = _share(trend.first), _share(trend.last)
    return f"in {first} of the responses early, {last} late" if first != last else f"in {last} of the responses"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _share(share: float) -> str:
    if 0 < share < 1 - NEARLY_ALL:
        return "under 1%"
    return "over 99%" if NEARLY_ALL <= share < 1 else f"{share:.0%}"


def note_of(
    found: Sequence[Finding],
    facts: WindowFacts,
    pieces: FeaturePieces,
    tested: int,
    expected: float,
    smallest: float | None,
    share: float,
    *,
    is_alone: bool,
    is_text: bool,
) -> str:
    """What was looked at, in sentences; `is_alone` for groups of one, `is_text` if some rewards are stored as text."""
    if not pieces.samples:
        return "Nothing to compare: there is no sample in these steps."
    if not facts.samples:
        waits = f" {pieces.pending:,} samples wait for the index." if pieces.pending else ""
        text = " Rewards that are text, not numbers, do not count: lint lists them." if is_text else ""
        return f"Nothing to compare: no sample with a reward is indexed.{text}{waits}"
    if is_alone:
        each = "the one sample" if facts.samples == 1 else f"each of the {facts.samples:,} samples"
        return f"Nothing to compare: {each} is alone in its group, without siblings."
    if not facts.groups:
        return f"Nothing to compare: no two siblings among {facts.samples:,} samples have different rewards."
    if smallest is None and not found:
        groups = "1 group" if facts.groups == 1 else f"{facts.groups} groups"
        return f"Nothing to compare: the rewards differ in {groups} only, and a phrase must vary in {LEAST_GROUPS}."
    scanned = f"{facts.samples:,} of {pieces.samples:,}" if facts.samples < pieces.samples else f"{facts.samples:,}"
    looked = (
        f"Scanned {scanned} samples; in {facts.groups:,} groups the rewards differ. Tested {tested:,} features; "
        f"false ones to expect: {f'fewer than {FEW}' if expected < FEW else f'{expected:.2g}'}."
    )
    if smallest is None or any(one.kind != "drift" for one in found):
        return looked
    return (
        f"{looked} Nothing above threshold: the smallest effect that this run could have shown is {smallest:.2g} "
        f"reward for each use of a phrase that {share:.0%} of the samples have."
    )
