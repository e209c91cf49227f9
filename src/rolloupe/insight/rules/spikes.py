"""Rules about values that stand out: NaN, infinities, and curves that jump."""

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe.insight.curves import (
    Alarm,
    Candidate,
    CurveName,
    History,
    NotChecked,
    Rule,
    RunCurves,
    all_curves,
    counted,
    rule,
)
from rolloupe.tokens import Floats

SHARE, FINITE = 0.5, 3

UPDATE = re.compile(
    r"(^|[/_])(loss|grad|kl|entropy|log_?prob|ratio|advantage|value|lr|learning_rate|perplexity|ppl|clip)"
    r"|^((train|critic|rollout)/)?(reward|score)s?([/_]mean)?$"
)
"""Names of metrics of whole steps, above all of the update. Means over samples have no value in a step without any."""


@rule("NaN", "error")
def not_finite(source: RunCurves) -> Iterator[Alarm]:
    """A metric of the update (loss, gradient, KL, entropy, ...) that is finite at {SHARE:.0%} of its steps or more is
    not at some, another one is infinite at some, or one that was finite never is again, for {FINITE} times as many
    steps as ever before.
    """
    metrics = {name: curve for name in source.names("trainer") if (curve := source.curve("trainer", name)) is not None}
    if not metrics:
        raise NotChecked("the trainer logged no metrics")
    bad = [
        (step, name)
        for name, curve in metrics.items()
        for step in curve.steps[_unusual(curve.values, is_of_update=bool(UPDATE.search(name.lower())))].tolist()
    ]
    if bad:
        bad.sort(key=itemgetter(0))
        steps = sorted({step for step, _ in bad})
        names = list(dict.fromkeys(name for _, name in bad))
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        curves = tuple(CurveName("trainer", name) for name in names)
        title = f"NaN or infinite at {counted(len(steps), 'step')}, first at {steps[0]}"
        yield Alarm(title, shown, steps[0], steps[-1], curves=curves)


def _unusual(values: Floats, *, is_of_update: bool) -> NDArray[np.bool_]:
    """Return the points of a metric that are not finite though it usually is, or was before it ended."""
    is_bad = ~np.isfinite(values)
    if is_of_update and is_bad.mean() <= SHARE:
        return is_bad
    finite = np.flatnonzero(~is_bad)
    was_usual = len(finite) >= FINITE and is_bad[finite[0] : finite[-1]].mean() <= SHARE
    if was_usual and len(values) - finite[-1] > FINITE * np.diff(finite).max():
        is_bad[: finite[-1]] = False
        return is_bad
    is_bad &= np.isinf(values)
    return is_bad if len(finite) >= SHARE * len(values) else np.zeros_like(is_bad)


WINDOW, LEAST = 50, 10
"""How many values before it a value is compared with, at most and at least."""

MAD_TO_STD = 1.4826
"""The factor from a median absolute deviation to a standard deviation."""

RECORD = 2.0
"""A spike is at least this many times the greatest earlier value that is not a spike."""

ROUNDING = 1.01
"""The margin of a filter: more than the rounding of its digits."""

EVEN = 0.05
"""The least deviation of logarithms: even a curve without noise may move by this much."""


class Spike(NamedTuple):
    """Points that stand out, one after the other, and the median of those before them."""

    points: History
    usual: float


def spikes(history: History, times: float, deviations: float, record: float = RECORD) -> list[Spike]:
    """Return the spikes of a curve.

    A value stands out if it is more than `times` the median of the last ones before it, exceeds it by `deviations`
    robust standard deviations of their logarithms, and is `record` times the greatest before it. Later values are not
    compared with a spike, unless enough values follow at its height to be a new level.
    """
    history = history.at(history.values > 0)
    runs: list[Spike] = []
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
            runs.append(Spike(history.at(slice(start, at)), usual))
            start = -1
        before.add(value)
    return [*runs, Spike(history.at(slice(start, None)), usual)] if start >= 0 else runs


class _Before:
    """The logarithms that later ones are compared with."""

    def __init__(self, values: Sequence[float] = ()) -> None:
        self._last = deque(values, WINDOW)
        self._greatest = max(values, default=-math.inf)

    def add(self, value: float) -> None:
        self._last.append(value)
        self._greatest = max(self._greatest, value)

    @property
    def median(self) -> float:
        return float(np.median(self._last))

    def is_exceeded(self, value: float, least: float, deviations: float, record: float) -> bool:
        if len(self._last) < LEAST or value <= self._greatest + record or value <= self.median + least:
            return False
        spread = MAD_TO_STD * float(np.median(np.abs(np.array(self._last) - self.median)))
        return value > self.median + deviations * max(spread, EVEN)


class SpikeRule(NamedTuple):
    """Looks for spikes of the candidates, and of the trainer's metrics whose names match a pattern."""

    noun: str
    candidates: list[Candidate]
    pattern: str
    times: float
    deviations: float
    sort: str = ""
    record: float = RECORD

    def look(self, source: RunCurves) -> Iterator[Alarm]:
        """Raise an alarm for each spike; curves that spike together have one."""
        alarms: list[Alarm] = []
        most = -1
        for name, curve in all_curves(source, self.candidates, self.pattern):
            most = max(most, int(np.sum(curve.values > 0)))
            for spike in spikes(curve, self.times, self.deviations, self.record):
                new = self._alarm(source, name, spike, int(curve.steps[-1]))
                for number, alarm in enumerate(alarms):
                    if alarm.first_step <= new.last_step and new.first_step <= alarm.last_step:
                        if name not in alarm.curves:
                            alarms[number] = replace(alarm, curves=(*alarm.curves, name))
                        break
                else:
                    alarms.append(new)
        noun = self.noun.removeprefix("The ")
        noun = noun[:1].lower() + noun[1:] if noun[1:2].islower() else noun
        if most < 0:
            raise NotChecked(f"the run has no {noun}")
        if most <= LEAST:
            raise NotChecked(f"{counted(most, 'step')} with a positive {noun}; {LEAST + 1} are needed")
        yield from alarms

    def _alarm(self, source: RunCurves, name: CurveName, spike: Spike, end: int) -> Alarm:
        points, usual = spike
        first, last, worst = int(points.steps[0]), int(points.steps[-1]), float(points.values.max())
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        is_lasting = len(points) == WINDOW or (last == end and len(points) >= LEAST)
        title = (
            f"{whose(self.noun, name)} {f'has been high since step {first}' if is_lasting else f'spikes at {steps}'}"
        )
        text = f"{said_of(name)} is {worst:.3g}, {worst / usual:.3g} times the median before"
        where = self._where(source, first, last)
        alarm = Alarm(title, text, first, last, where=where, sort=self.sort, curves=(name,))
        return source.at_token(alarm) if self.sort else alarm

    def _where(self, source: RunCurves, first: int, last: int) -> str:
        """Return the filter of the samples that exceed the usual maximum of a step; empty if no sample does."""
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


def whose(noun: str, name: CurveName) -> str:
    """Return a noun that tells a KL that the trainer logged from that of the recorded tokens, which is another one."""
    if not noun.endswith("KL"):
        return noun
    noun = noun[:1].lower() + noun[1:] if noun[1:2].islower() else noun
    return f"The trainer's {noun}" if name.kind == "trainer" else f"Token {noun}"


def said_of(name: CurveName) -> str:
    """Return the name of a curve in a sentence, with what it is about."""
    if name.kind == "trainer":
        return f"the trainer's {name.name}"
    return f"{name.name} of the recorded tokens" if name.kind == "token" else name.name


GRAD_NORM = SpikeRule("The gradient norm", [], r"(^|/)grad(ient)?_?norm(/mean)?$", 8, 6).rule(
    "grad_norm_spike", "Gradient norm spikes"
)
KL_CURVES: list[Candidate] = [
    ("token", "kl", "mean"), ("token", "kl_k3", "mean"), ("sample", "derived.mean_kl", "mean"),
]  # fmt: skip
KL_PATTERN = r"(^|/)((approx|ppo|mean|ref|reference)_)?kl(_(div|loss|mean))?(/mean)?$"
KL = SpikeRule("KL", KL_CURVES, KL_PATTERN, 4, 6, "derived.max_kl").rule("kl_spike", "KL spikes")
GROWN, KLS = 5.0, 20
POSITIVE = 0.9
"""An estimate of the KL that is often below 0 wanders around it."""


@rule("KL explosion")
def kl_explosion(source: RunCurves) -> Iterator[Alarm]:
    """The median KL of the last fifth of {KLS} steps or more is {GROWN:g} times the greatest median of the fifths
    before.
    """
    most = -1
    for name, curve in all_curves(source, KL_CURVES, KL_PATTERN):
        most, fifth = max(most, len(curve)), len(curve) // 5
        if len(curve) < KLS or np.mean(curve.values > 0) < POSITIVE:
            continue
        before = max(float(np.median(part)) for part in np.split(curve.values[: 4 * fifth], 4))
        if 0 < GROWN * before < curve.late():
            first, last = curve.late_steps()
            late = f"{said_of(name)} has a median of {curve.late():.3g} in the last fifth of the steps"
            text = f"{late}, and of at most {before:.3g} in each fifth before"
            alarm = Alarm(
                f"{whose('KL', name)} is {curve.late() / before:.2g} times as high", text, first, last,
                sort="derived.max_kl", curves=(name,),
            )  # fmt: skip
            yield source.at_token(alarm)
            return
    if most < KLS:
        raise NotChecked(f"{counted(most, 'step')} with KL; {KLS} are needed" if most >= 0 else "the run has no KL")


MISMATCH = SpikeRule(
    "Mismatch KL",
    [("token", "mismatch_kl", "mean")],
    r"(^|/)(mismatch_kl|logprobs?_diff)([_/]mean)?$",
    5,
    8,
    "derived.max_mismatch_kl",
).rule("mismatch_spike", "Mismatch of trainer and engine")
RATIO = SpikeRule(
    "The largest ratio",
    [("token", "importance_ratio", "max")],
    r"(^|/)(importance_)?ratio[_/]max$",
    5, 10, "derived.max_mismatch_kl", record=4,
).rule("ratio_spike", "Ratio spikes")  # fmt: skip
