"""Findings that are one thing to a person: nearly the same samples have them, or they say the same words."""

from collections.abc import Sequence
from typing import NamedTuple

from rolloupe.features import Floats, Grouping
from rolloupe.insight.findings.phrase import words_to_read
from rolloupe.insight.findings.records import FindingClass

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
