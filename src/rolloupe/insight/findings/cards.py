"""Presents findings to a person: on cards, with samples to read and in sentences."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from rolloupe.derive import METRICS
from rolloupe.features import Floats, Grouping
from rolloupe.insight.curves import counted
from rolloupe.insight.findings.phrase import words_to_read
from rolloupe.insight.findings.records import FindingClass, ReadingList, RunFindings
from rolloupe.insight.findings.selection import TYPICAL_SHARE, FeatureMatrix
from rolloupe.insight.findings.trend import NEARLY_ALL, Trend
from rolloupe.query.run_features import LEAST_GROUPS

COINCIDE = 0.8
"""Two features with a higher correlation of presence among siblings are one, however often each occurs."""

LEAST_WORDS = 2


class SeenFinding(NamedTuple):
    """A feature that the reward pays for (`sign` 1) or punishes (-1), or that rises unpaid."""

    kind: FindingClass
    sign: float
    phrase: str = ""
    """Empty for a behaviour."""
    number: int = 0
    """The column of the feature."""
    trend: Trend = Trend(0.0, 0.0, 0.0, 0.0)
    correctness: float | None = None
    also: Sequence[int] = ()
    """The numbers of others on the same card."""


def merge_similar(seen: Sequence[SeenFinding], has: Floats, grouping: Grouping) -> list[list[int]]:
    """Return the numbers of the findings on each card; `seen` is in order of importance, as are cards.

    `has`, of shape (N, K), is 1 if a sample has a finding, else 0. A card says whether correctness follows, so its
    findings are either all earned or all not.
    """
    gaps = grouping.centred(has)
    together = gaps.T @ gaps
    cards: list[list[int]] = []
    for number, other in enumerate(seen):
        for card in cards:
            first = seen[card[0]]
            limit = COINCIDE**2 * together[number, number] * together[card[0], card[0]]
            is_same = together[number, card[0]] > 0 and together[number, card[0]] ** 2 >= limit
            is_alike = first.sign == other.sign and (first.kind == "earned") == (other.kind == "earned")
            is_paid = "drift" not in (first.kind, other.kind)
            if is_paid and is_alike and (is_same or say_the_same(first.phrase, other.phrase)):
                card.append(number)
                break
        else:
            cards.append([number])
    return cards


def say_the_same(first: str, other: str) -> bool:
    """Return whether one phrase has all distinct words of the other, and at most twice as many words."""
    less, more = sorted(({*words_to_read(phrase)} for phrase in (first, other)), key=len)
    return len(less) >= LEAST_WORDS and 2 * len(less) >= len(more) and less <= more


MAX_PAIRS = 3


class SamplesToRead(NamedTuple):
    """Numbers of samples: see `ReadingList`."""

    pairs: Sequence[tuple[int, int]]
    earliest: int | None
    counterexample: int | None

    def numbers(self) -> set[int]:
        """Return all of them."""
        every = (*chain(*self.pairs), self.earliest, self.counterexample)
        return {number for number in every if number is not None}

    def named(self, names: Mapping[int | None, str]) -> ReadingList:
        """Return the same by id."""
        pairs = [(names[a], names[b]) for a, b in self.pairs]
        return ReadingList(pairs, names.get(self.earliest, ""), names.get(self.counterexample, ""))


def to_read(matrix: FeatureMatrix, number: int, sign: float, correct: Floats | None) -> SamplesToRead:
    """Return the samples to read for a feature; `correct` is centred within groups."""
    of = matrix.of
    x = sign * matrix.centred[:, number]
    has = np.flatnonzero(matrix.x[:, number] > 0)
    earliest = int(has[np.argmin(of.step[has])]) if len(has) else None
    lost = np.flatnonzero((x > 0) & (of.rewards < 0))
    counterexample = int(lost[np.argmin(of.rewards[lost] - 1e-3 * x[lost])]) if len(lost) else None
    return SamplesToRead(_pairs(matrix, x, correct), earliest, counterexample)


def _pairs(matrix: FeatureMatrix, x: Floats, correct: Floats | None) -> list[tuple[int, int]]:
    """Return a pair of siblings for each group, the widest apart and the latest first. The first sibling has the best
    reward with the feature. The second has the least of the feature among siblings with a worse reward that are no less
    correct.
    """
    of, rewards = matrix.of, matrix.of.rewards
    pairs = []
    for start, size in zip(of.grouping.starts.tolist(), of.grouping.sizes.tolist(), strict=True):
        own = slice(start, start + size)
        if size < 2 or not (x[own].max() > 1e-9 and rewards[own].max() > 1e-9):
            continue
        best = start + int(np.argmax(np.where(x[own] > 0, rewards[own] + 1e-3 * x[own], -np.inf)))
        is_beaten = (x[own] < x[best] - 1e-9) & (rewards[own] < rewards[best] - 1e-9)
        if correct is not None:
            is_beaten &= ~(correct[best] > correct[own] + 1e-9)
        beaten = start + np.flatnonzero(is_beaten)
        if len(beaten):
            pairs.append((best, int(beaten[np.argmin(x[beaten] - 1e-6 * rewards[beaten])])))
    gain = [min(1.0, float(x[a] - x[b])) * float(rewards[a] - rewards[b]) for a, b in pairs]
    last = of.step.max(initial=1) or 1
    rank = sorted(range(len(pairs)), key=lambda n: (-gain[n] * (0.5 + of.step[pairs[n][0]] / last), pairs[n]))
    return [pairs[n] for n in rank[:MAX_PAIRS]]


ENDINGS: dict[FindingClass, str] = {
    "suspect": "correctness does not follow",
    "unverified": "nothing in the run says whether the answers are correct",
    "earned": "correctness goes with it",
    "watch": "there is no clear rise",
    "drift": "the reward does not clearly pay for it",
}

FEW = 0.001
"""A smaller number of false findings is not written out."""

TITLE_WORDS = 8


MOST_WORDS = 16
_NEEDLESS_SPACE = re.compile(
    r" (?=[,.;:!?)\]}’])|(?<=[(\[{]) "
    r"|(?<=[^\W\d_]) (?=(?:- |['’] …?)[^\W\d_]|['’] …)|(?<=[^\W\d_] ['’-]) (?=[^\W\d_])|(?<=[^\W\d_] ['’]) (?=…)"
)
"""A space that parts a mark from its word, as in `i ' m double - checked`: words and marks of a phrase are single."""


def quoted(phrase: str) -> str:
    """Return a phrase as the title of a finding: in quotes, as people write it, and cut if it is long."""
    words = (_NEEDLESS_SPACE.sub("", phrase).lstrip(".,;:!? ") or phrase).split(" ")
    return f"“{' '.join(words[:MOST_WORDS])}{' …' if len(words) > MOST_WORDS else ''}”"


def also_of(titles: Sequence[str]) -> str:
    """Return a sentence about the other findings on a card; empty without any."""
    short = []
    for title in titles:
        words = title.split(" ")
        ending = "…”" if title.startswith("“") else "…"
        short.append(title if len(words) <= TITLE_WORDS + 1 else " ".join((*words[:TITLE_WORDS], ending)))
    return f" Also seen as {' and '.join(filter(None, (', '.join(short[:-1]), *short[-1:])))}." if short else ""


def sentence_of(kind: FindingClass, title: str, behaviour: str, effect: float, trend: Trend) -> str:
    """Return a sentence about a finding."""
    begin, common = title[:1].upper() + title[1:], _common(trend, METRICS[behaviour].unit if behaviour else "uses")
    if kind == "drift":
        return f"{begin} is on the rise, {common}; {ENDINGS[kind]}."
    begin = f"Each doubling of {title}" if is_by_doubling(behaviour, trend) else begin
    gain = f"earns {effect:+.2g} over" if effect >= 0 else f"costs {-effect:.2g} against"
    return f"{begin} {gain} its siblings, {common}; {ENDINGS[kind]}."


def is_by_doubling(behaviour: str, trend: Trend) -> bool:
    """Return whether an effect is that of twice the amount: of lengths, and of what nearly all samples have."""
    unit = METRICS[behaviour].unit if behaviour else "uses"
    return unit == "characters" or (bool(unit) and trend.is_common)


def _common(trend: Trend, unit: str) -> str:
    """Return how common a feature is, early and late: in a share of the responses, or by its amount if all have it."""
    if unit and trend.is_common:
        early, late = (f"{value:,.0f}" if value >= 10 else f"{value:.2g}" for value in (trend.early, trend.late))
        return f"typically {early} {unit} early, {late} late"
    first, last = _share(trend.first), _share(trend.last)
    return f"in {first} of the responses early, {last} late" if first != last else f"in {last} of the responses"


def _share(share: float) -> str:
    if 0 < share < 1 - NEARLY_ALL:
        return "under 1%"
    return "over 99%" if NEARLY_ALL <= share < 1 else f"{share:.0%}"


def note_of(run: RunFindings, *, is_alone: bool, is_text: bool) -> str:
    """Return the note of `RunFindings`; `is_alone` for groups of one, `is_text` if some rewards are stored as text."""
    if not run.samples:
        return "Nothing to compare: there is no sample in these steps."
    if not run.scanned:
        waits = f" {run.pending:,} samples wait for the index." if run.pending else ""
        text = " Rewards that are text, not numbers, do not count: lint lists them." if is_text else ""
        return f"Nothing to compare: no sample with a reward is indexed.{text}{waits}"
    if is_alone:
        each = "the one sample" if run.scanned == 1 else f"each of the {run.scanned:,} samples"
        return f"Nothing to compare: {each} is alone in its group, without siblings."
    if not run.groups:
        return f"Nothing to compare: no two siblings among {run.scanned:,} samples have different rewards."
    if run.smallest is None and not run.findings:
        groups = counted(run.groups, "group")
        return f"Nothing to compare: the rewards differ in {groups} only, and a phrase must vary in {LEAST_GROUPS}."
    scanned = f"{run.scanned:,} of {run.samples:,}" if run.scanned < run.samples else f"{run.scanned:,}"
    expected = f"fewer than {FEW}" if run.expected < FEW else f"{run.expected:.2g}"
    searched = (
        f"Scanned {scanned} samples; in {run.groups:,} groups the rewards differ. Tested {run.tested:,} features; "
        f"expected by chance alone: {expected}."
    )
    if run.smallest is None or any(finding.kind != "drift" for finding in run.findings):
        return searched
    return (
        f"{searched} Nothing above threshold: the smallest effect that this run could have shown is {run.smallest:.2g} "
        f"reward for each use of a phrase that {TYPICAL_SHARE:.0%} of the samples have."
    )
