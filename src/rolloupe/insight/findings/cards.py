"""Which findings share a card, and which samples show each of them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rolloupe.features import Floats, Grouping
from rolloupe.insight.findings.matrix import FeatureMatrix
from rolloupe.insight.findings.phrase import words_to_read
from rolloupe.insight.findings.records import FindingClass, ReadingList

COINCIDE = 0.8
"""Two features whose presence is so correlated among siblings count as one, however often each occurs."""

LEAST_WORDS = 2


class SeenFinding(NamedTuple):
    """A finding as a person sees it."""

    kind: FindingClass
    sign: float
    phrase: str
    """Empty for a behaviour."""


def cards(seen: Sequence[SeenFinding], has: Floats, grouping: Grouping) -> list[list[int]]:
    """The numbers of the findings on each card, the one to show first; `seen` has those that matter most first.

    `has` is 1 where a sample has a finding, else 0, of shape (N, K).
    """
    gaps = grouping.centred(has)
    together = gaps.T @ gaps
    found: list[list[int]] = []
    for number, one in enumerate(seen):
        for card in found:
            first = card[0]
            limit = COINCIDE**2 * together[number, number] * together[first, first]
            is_same = together[number, first] > 0 and together[number, first] ** 2 >= limit
            if _may_share(seen[first], one) and (is_same or say_the_same(seen[first].phrase, one.phrase)):
                card.append(number)
                break
        else:
            found.append([number])
    return found


def _may_share(first: SeenFinding, other: SeenFinding) -> bool:
    """True for two of one sign, if neither or both are earned: a card says whether correctness follows."""
    is_paid = "drift" not in (first.kind, other.kind)
    return is_paid and first.sign == other.sign and (first.kind == "earned") == (other.kind == "earned")


def say_the_same(first: str, other: str) -> bool:
    """True if one phrase has all the words of the other, and these are half of its own; none counts twice."""
    less, more = sorted(({*words_to_read(one)} for one in (first, other)), key=len)
    return len(less) >= LEAST_WORDS and 2 * len(less) >= len(more) and less <= more


MAX_PAIRS = 3


class SamplesToRead(NamedTuple):
    """Numbers of samples: see `ReadingList`."""

    pairs: Sequence[tuple[int, int]]
    earliest: int | None
    counterexample: int | None

    def numbers(self) -> list[int]:
        """All of them, each once."""
        every = [one for pair in self.pairs for one in pair]
        return list(dict.fromkeys([*every, *(one for one in (self.earliest, self.counterexample) if one is not None)]))

    def named(self, name: Callable[[int], str]) -> ReadingList:
        """The same, by id."""
        pairs = [(name(a), name(b)) for a, b in self.pairs]
        earliest, counterexample = ("" if one is None else name(one) for one in (self.earliest, self.counterexample))
        return ReadingList(pairs, earliest, counterexample)


def to_read(matrix: FeatureMatrix, number: int, sign: float, correct: Floats | None) -> SamplesToRead:
    """The samples to read for a feature; `correct` is centred within groups."""
    of = matrix.of
    x = sign * matrix.gaps(number)
    has = np.flatnonzero(matrix.x[:, number] > 0)
    earliest = int(has[np.argmin(of.step[has])]) if len(has) else None
    lost = np.flatnonzero((x > 0) & (of.rewards < 0))
    counterexample = int(lost[np.argmin(of.rewards[lost] - 1e-3 * x[lost])]) if len(lost) else None
    return SamplesToRead(_pairs(matrix, x, correct), earliest, counterexample)


def _pairs(matrix: FeatureMatrix, x: Floats, correct: Floats | None) -> list[tuple[int, int]]:
    """Pairs of siblings, the widest apart and the latest first: of one group one pair."""
    of = matrix.of
    found = []
    for start, size in zip(of.grouping.starts.tolist(), of.grouping.sizes.tolist(), strict=True):
        own = slice(start, start + size)
        if size < 2 or not (x[own].max() > 1e-9 and of.rewards[own].max() > 1e-9):
            continue
        best = start + int(np.argmax(np.where(x[own] > 0, of.rewards[own] + 1e-3 * x[own], -np.inf)))
        less = _less(x[own], of.rewards[own], None if correct is None else correct[own], best - start)
        if less is not None:
            found.append((best, start + less))
    gain = [min(1.0, float(x[a] - x[b])) * float(of.rewards[a] - of.rewards[b]) for a, b in found]
    last = of.step.max(initial=1) or 1
    rank = sorted(range(len(found)), key=lambda n: (-gain[n] * (0.5 + of.step[found[n][0]] / last), found[n]))
    return [found[n] for n in rank[:MAX_PAIRS]]


def _less(x: Floats, rewards: Floats, correct: Floats | None, best: int) -> int | None:
    """The sibling with the least of the feature that the best one beat, and is no more correct than."""
    beaten = (x < x[best] - 1e-9) & (rewards < rewards[best] - 1e-9)
    if correct is not None:
        beaten &= ~(correct[best] > correct + 1e-9)
    others = np.flatnonzero(beaten)
    return int(others[np.argmin(x[others] - 1e-6 * rewards[others])]) if len(others) else None
