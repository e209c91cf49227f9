"""Rules about curves that jump."""

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rolloupe.insight.alarm import Alarm, NotChecked, Rule
from rolloupe.insight.curves import Candidate, CurveName, HasCurves, History, all_curves

WINDOW, LEAST = 50, 10
"""A value is compared with at most so many before it, and with at least so many."""


MAD_TO_STD = 1.4826
"""What the median absolute deviation is multiplied by to estimate a standard deviation."""

RECORD = 2.0
"""How many times the greatest value before it a spike usually has, other spikes left out."""

ROUNDING = 1.01
"""More than what the digits of a filter lose."""

EVEN = 0.05
"""The least deviation of logarithms: a curve without noise still may move by so much."""


class Spike(NamedTuple):
    """Points that stand out, one after the other, and the median of those before them."""

    points: History
    usual: float


def spikes(history: History, times: float, deviations: float, record: float = RECORD) -> list[Spike]:
    """Return the spikes of a curve.

    A value stands out if it is more than `times` the median of the last ones before it, exceeds it by so many robust
    standard deviations of their logarithms, and is `record` times the greatest before it. It takes no part in what
    later values are compared with, unless so many follow it that they are a level of their own.
    """
    history = history.at(history.values > 0)
    found: list[Spike] = []
    before = _Before()
    start, usual = -1, 0.0
    values = np.log(history.values).tolist()
    for at, value in enumerate(values):
        if before.is_exceeded(value, math.log(times), deviations, math.log(record)):
            start, usual = (at, math.exp(before.median)) if start < 0 else (start, usual)
            if at + 1 - start == WINDOW:
                before = _Before(values[start : at + 1])
            continue
        if start >= 0:
            found.append(Spike(history.at(slice(start, at)), usual))
            start = -1
        before.add(value)
    return [*found, Spike(history.at(slice(start, None)), usual)] if start >= 0 else found


class _Before:
    """The logarithms that later ones are compared with."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self._last: deque[float] = deque()
        self._sorted: list[float] = []
        self._greatest = -math.inf
        for value in values:
            self.add(value)

    def add(self, value: float) -> None:
        self._last.append(value)
        insort(self._sorted, value)
        self._greatest = max(self._greatest, value)
        if len(self._last) > WINDOW:
            del self._sorted[bisect_left(self._sorted, self._last.popleft())]

    @property
    def median(self) -> float:
        middle = len(self._sorted) // 2
        return (self._sorted[middle] + self._sorted[~middle]) / 2

    def is_exceeded(self, value: float, least: float, deviations: float, record: float) -> bool:
        if len(self._last) < LEAST or value <= max(self.median + least, self._greatest + record):
            return False
        spread = MAD_TO_STD * float(np.median(np.abs(np.array(self._sorted) - self.median)))
        return value > self.median + deviations * max(spread, EVEN)


class SpikeRule(NamedTuple):
    """What a rule about spikes looks at: those of these curves that a run has."""

    candidates: list[Candidate]
    pattern: str
    """Of the trainer's metrics that follow them."""
    what: str
    times: float
    deviations: float
    sort: str
    record: float = RECORD

    def look(self, source: HasCurves) -> Iterator[Alarm]:
        """Raise an alarm for each spike; curves that spike together have one."""
        found: list[Alarm] = []
        most = -1
        for which, curve in all_curves(source, self.candidates, self.pattern):
            most = max(most, int(np.sum(curve.values > 0)))
            for spike in spikes(curve, self.times, self.deviations, self.record):
                new = self._alarm(source, which, spike)
                at = next((at for at, one in enumerate(found) if _is_together(one, new)), None)
                if at is None:
                    found.append(new)
                elif which not in found[at].curves:
                    found[at] = found[at]._replace(curves=(*found[at].curves, which))
        what = self.what.removeprefix("The ")
        what = what[:1].lower() + what[1:] if what[1:2].islower() else what
        if most < 0:
            raise NotChecked(f"the run has no {what}")
        if most <= LEAST:
            raise NotChecked(f"{most} step{'' if most == 1 else 's'} with a positive {what}; {LEAST + 1} are needed")
        yield from found

    def _alarm(self, source: HasCurves, which: CurveName, spike: Spike) -> Alarm:
        points, usual = spike
        first, last, worst = int(points.steps[0]), int(points.steps[-1]), float(points.values.max())
        where = f"step {first}" if first == last else f"steps {first} to {last}"
        title = f"{self.what} spikes at {where}"
        text = f"{which.name} is {worst:.3g}, {worst / usual:.3g} times the median before"
        return Alarm(title, text, first, last, where=self._where(source, first, last), sort=self.sort, curves=(which,))

    def _where(self, source: HasCurves, first: int, last: int) -> str:
        """The filter of the samples that exceed what the greatest of a step usually is, if there are such samples."""
        own = source.curve("sample", self.sort, "max") if self.sort else None
        if own is None:
            return ""
        before = own.at(own.steps < first).finite().values[-WINDOW:]
        during = own.at((own.steps >= first) & (own.steps <= last)).finite().values
        usual = float(np.median(before)) if len(before) else math.inf
        return f"{self.sort} > {usual:.3g}" if during.max(initial=-math.inf) > ROUNDING * usual else ""

    def rule(self, name: str, title: str) -> Rule:
        """Return the rule."""
        words = (
            f"a step exceeds {self.times:g} times the median of the {WINDOW} positive values before, that median by "
            f"{self.deviations:g} robust standard deviations of their logarithms, and {self.record:g} times the "
            "greatest value before"
        )
        return Rule(name, title, words, self.look)


def _is_together(one: Alarm, other: Alarm) -> bool:
    return one.first_step <= other.last_step and other.first_step <= one.last_step


RULES = (
    # The norm of the gradient jumps.
    SpikeRule(
        candidates=[],
        pattern=r"(^|/)grad(ient)?_?norm(/mean)?$",
        what="The gradient norm", times=8, deviations=6, sort="",
    ).rule("grad_norm_spike", "Gradient norm spikes"),
    # The KL to the reference jumps.
    SpikeRule(
        candidates=[("token", "kl", "mean"), ("token", "kl_k3", "mean"), ("sample", "derived.mean_kl", "mean")],
        pattern=r"(^|/)((approx|ppo|mean|ref|reference)_)?kl(_(div|loss|mean))?(/mean)?$",
        what="KL", times=4, deviations=6, sort="derived.max_kl",
    ).rule("kl_spike", "KL spikes"),
    # Trainer and inference engine disagree on the same tokens.
    SpikeRule(
        candidates=[("token", "mismatch_kl", "mean")],
        pattern=r"(^|/)mismatch_kl([_/]mean)?$",
        what="Mismatch KL", times=5, deviations=8, sort="derived.max_mismatch_kl",
    ).rule("mismatch_spike", "Mismatch of trainer and engine"),
    # The importance ratio of some token jumps.
    SpikeRule(
        candidates=[("token", "importance_ratio", "max")],
        pattern=r"(^|/)(importance_)?ratio[_/]max$",
        what="The largest ratio", times=5, deviations=10, record=4, sort="derived.max_mismatch_kl",
    ).rule("ratio_spike", "Ratio spikes"),
)  # fmt: skip
