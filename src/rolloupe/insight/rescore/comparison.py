"""Old reward against new score, added up group by group: no sample is kept."""

import math
from collections.abc import Sequence

from msgspec import Struct

from rolloupe.insight.rescore.process import Graded

TOLERANCE = 1e-9
"""Rewards that differ by less, relative to the larger, are equal: sums of parts round differently."""


class RewardChange(Struct, frozen=True, kw_only=True):
    """How new scores differ from the rewards of the run, over the samples that have both, finite."""

    samples: int
    equal: float | None
    """The share of samples whose score is the reward."""
    correlation: float | None
    """Pearson's r; None where one of both never varies."""
    sign_changes: float | None
    """The share of samples, in groups of two and more, whose centred reward has another sign: +, 0 or -."""
    groups: int
    """The groups of two and more."""
    dead_before: int
    """The groups in which all rewards are equal."""
    dead_after: int
    first_steps: tuple[int, int] | None
    """The first tenth of the steps: its first and its last one."""
    last_steps: tuple[int, int] | None
    old_first: float | None
    """The mean reward over the first tenth of the steps."""
    old_last: float | None
    new_first: float | None
    new_last: float | None
    grader_share: float | None
    """The part of the gain that was the old grader's: 1 - (gain of the score) / (gain of the reward).

    None unless the reward rose.
    """


class Mean:
    """A mean of numbers, added one by one."""

    def __init__(self) -> None:
        self.count = 0
        self.value = 0.0

    def add(self, value: float) -> None:
        """Add a number."""
        self.count += 1
        self.value += (value - self.value) / self.count

    @property
    def known(self) -> float | None:
        """The mean; None without numbers."""
        return self.value if self.count else None


class Correlation:
    """Pearson's r of pairs, added one by one (Welford)."""

    def __init__(self) -> None:
        self._x, self._y = Mean(), Mean()
        self._xx = self._yy = self._xy = 0.0

    def add(self, x: float, y: float) -> None:
        """Add a pair."""
        from_x, from_y = x - self._x.value, y - self._y.value
        self._x.add(x)
        self._y.add(y)
        self._xx += from_x * (x - self._x.value)
        self._yy += from_y * (y - self._y.value)
        self._xy += from_x * (y - self._y.value)

    @property
    def value(self) -> float | None:
        """The coefficient; None where one of both never varies."""
        scale = math.sqrt(self._xx) * math.sqrt(self._yy)
        return max(-1.0, min(1.0, self._xy / scale)) if scale > 0 else None


class Comparison:
    """Adds groups up to a `RewardChange`. `steps` are all steps of the comparison, in order."""

    def __init__(self, steps: Sequence[int]) -> None:
        tenth = math.ceil(len(steps) / 10)
        self._ends = (steps[:tenth], steps[-tenth:]) if len(steps) > 1 else ((), ())
        self._means = [(frozenset(some), Mean(), Mean()) for some in self._ends]
        self._correlation = Correlation()
        self._samples = self._equal = self._compared = self._changed = 0
        self._groups = self._dead_before = self._dead_after = 0

    def add(self, group: Sequence[Graded]) -> None:
        """Add the samples of one group."""
        both = [(graded.item.reward, graded.verdict.score) for graded in group]
        pairs = [(old, new) for old, new in both if old is not None and new is not None and math.isfinite(old)]
        for old, new in pairs:
            self._samples += 1
            self._equal += is_same(old, new)
            self._correlation.add(old, new)
            for steps, of_old, of_new in self._means:
                if group[0].item.step in steps:
                    of_old.add(old)
                    of_new.add(new)
        if len(pairs) > 1:
            before, after = signs([old for old, _ in pairs]), signs([new for _, new in pairs])
            self._groups += 1
            self._dead_before += not any(before)
            self._dead_after += not any(after)
            self._compared += len(pairs)
            self._changed += sum(a != b for a, b in zip(before, after, strict=True))

    def change(self) -> RewardChange:
        """What came of all groups."""
        (_, old_first, new_first), (_, old_last, new_last) = self._means
        first, last = ((min(steps), max(steps)) if steps else None for steps in self._ends)
        return RewardChange(
            samples=self._samples, equal=self._equal / self._samples if self._samples else None,
            correlation=self._correlation.value,
            sign_changes=self._changed / self._compared if self._compared else None,
            groups=self._groups, dead_before=self._dead_before, dead_after=self._dead_after,
            first_steps=first, last_steps=last, old_first=old_first.known, old_last=old_last.known,
            new_first=new_first.known, new_last=new_last.known,
            grader_share=grader_share(old_first.known, old_last.known, new_first.known, new_last.known),
        )  # fmt: skip


def grader_share(
    old_first: float | None, old_last: float | None, new_first: float | None, new_last: float | None
) -> float | None:
    """The part of the gain that was the old grader's; None unless the old reward rose."""
    if old_first is None or old_last is None or new_first is None or new_last is None:
        return None
    if old_last <= old_first or is_same(old_first, old_last):
        return None
    return 1 - (new_last - new_first) / (old_last - old_first)


def signs(rewards: Sequence[float]) -> list[int]:
    """The signs of the rewards of a group, centred; 0 for all of a group whose rewards are equal."""
    least, most = min(rewards), max(rewards)
    if is_same(least, most):
        return [0] * len(rewards)
    mean = least + sum(reward - least for reward in rewards) / len(rewards)
    near = TOLERANCE * (most - least)
    return [(reward - mean > near) - (reward - mean < -near) for reward in rewards]


def is_same(one: float, other: float) -> bool:
    """True for numbers that differ by rounding at most."""
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
