"""The curves that rules look at, and the alarms that rules raise about them."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import CurveOptions, CurveQuery, SampleQuery
from rolloupe.tokens import Floats


class CurveName(Struct, frozen=True):
    """A curve that an alarm is about; see `CurveQuery`."""

    kind: str
    name: str
    source: str = ""
    """The evaluation; empty for all other curves."""

    def names(self, curve: CurveQuery) -> bool:
        """Return whether this is the name of a curve."""
        is_of_evaluation = self.kind != "eval" or self.source == curve.source
        return (self.kind, self.name) == (curve.kind, curve.name) and is_of_evaluation


LARGE = 1e60
"""Squares of squares of greater numbers may overflow."""


def scale_of(*columns: Floats) -> float:
    """Return what to divide numbers by, so that nothing computed from them overflows: 1 unless they are huge."""
    largest = max(float(np.abs(column).max(initial=0.0)) for column in columns)
    return largest if largest > LARGE else 1.0


def step_noise(values: Floats) -> float:
    """Return the standard deviation of a curve's noise, from the differences of neighbours, robust against jumps."""
    return float(np.median(np.abs(np.diff(values)))) / 0.6745 / 2**0.5


def noise_of_trend(values: Floats) -> float:
    """Return the same for a curve that rises or falls: from the differences of those differences."""
    return float(np.median(np.abs(np.diff(values, 2)))) / 0.6745 / 6**0.5


def ranks(values: Floats) -> Floats:
    """Return the rank of each value, from 0 on; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    of_values: Floats = (np.cumsum(counts) - (counts + 1) / 2)[places]
    return of_values


CHANGE, TREND = 4.2, 3.5
"""The least change, in standard errors of the difference between two windows of steps, or of the slope over all."""
PERHAPS = 2.5
"""The least difference of the ends, in standard errors, that is worth a doubtful word."""
BEST = 4.8
"""The same for the best of many windows, which is high by chance too."""
FALL = 0.15
"""The least fall from the best window, as a share of it or of the deviation of the samples."""
WINDOWS = 10
"""A window has a tenth of the steps."""


class Windows(NamedTuple):
    """Means over windows of as many steps each, weighted by samples, and the noise of their differences."""

    steps: list[int]
    width: int
    trend: float
    """The slope of the straight line through the steps, in standard errors."""
    means: Floats
    """One for each step at which a window begins."""
    error: float
    """The standard error of the difference of two windows."""
    spread: float
    """The median of the standard deviations of the steps."""
    noise: float
    """The standard error of the mean of a step."""

    @property
    def ends(self) -> tuple[float, float]:
        """The means of the first and the last window."""
        return float(self.means[0]), float(self.means[-1])

    @property
    def by_chance(self) -> float:
        """How far the ends may be apart by chance."""
        return PERHAPS * self.error

    @property
    def change(self) -> int:
        """1 if the curve rose, -1 if it fell, 0 without a clear change: between its ends, or along a straight line."""
        early, late = self.ends
        clear = abs(late - early) > CHANGE * self.error or abs(self.trend) > TREND
        return int(np.sign(late - early)) if clear and self.trend * (late - early) > 0 else 0

    @property
    def has_fallen(self) -> bool:
        """True if the last window is clearly below the best, and far below it."""
        fall = self.best - self.ends[1]
        return fall > BEST * self.error and fall > FALL * max(abs(self.best), self.spread)

    @property
    def is_noisy(self) -> bool:
        """False if the curve, and the samples of its steps, have one value."""
        return self.spread > 0 or bool(np.ptp(self.means))

    @property
    def perhaps(self) -> int:
        """1 if the last window is above the first by more than is usual by chance, -1 if below, else 0."""
        gap = self.ends[1] - self.ends[0]
        return int(np.sign(gap)) if abs(gap) > PERHAPS * self.error else 0

    @property
    def best(self) -> float:
        """The highest mean."""
        return float(self.means.max())

    @property
    def best_place(self) -> int:
        """Where in the steps the best window begins."""
        return int(self.means.argmax())

    @property
    def best_step(self) -> int:
        """The last step of the best window."""
        return self.steps[self.best_place + self.width - 1]

    def halfway(self, before: float, after: float) -> str:
        """The middle of the first window since which the means are nearer to `after` than to `before`, in words."""
        nearer_before = np.flatnonzero(np.abs(self.means - before) <= np.abs(self.means - after))
        first = int(nearer_before[-1]) + 1 if len(nearer_before) else 0
        step = self.steps[min(first + self.width // 2, len(self.steps) - 1)]
        return f"{'about ' if self.width > 1 else ''}step {step}"

    @property
    def over(self) -> str:
        """Says what the means are of; empty for single steps."""
        return f" (means of {self.width} steps)" if self.width > 1 else ""


def windows_of(
    steps: Sequence[int], values: Floats, weights: Floats, deviations: Floats, count: int = WINDOWS
) -> Windows:
    """Return the windows of a curve, `count` beside each other: it has a value, a number of samples and a standard
    deviation for each step.

    The noise of a step is that of a mean of its samples, or that between neighbouring steps, whichever is more.
    """
    scale = scale_of(values, deviations)
    values, deviations = values / scale, deviations / scale
    width = max(1, len(steps) // count)
    sums, counts = (np.concatenate([[0.0], np.cumsum(part)]) for part in (values * weights, weights))
    means = (sums[width:] - sums[:-width]) / (counts[width:] - counts[:-width])
    errors = deviations / np.sqrt(weights)
    of_samples = float(np.median(errors)) or float(np.sqrt((errors**2).mean()))  # rare rewards: most steps have none
    of_steps = min(step_noise(values), noise_of_trend(values)) if len(values) > 5 else 0.0
    noise = max(of_samples, of_steps, 1e-9 * float(np.abs(values).max(initial=0.0)), 1e-300)
    places = np.arange(len(values)) - (len(values) - 1) / 2
    trend = float(places @ values) / noise / max(1.0, float(places @ places)) ** 0.5
    error, spread = noise * float(np.sqrt(2 / width)), float(np.median(deviations))
    return Windows([*map(int, steps)], width, trend, means * scale, error * scale, spread * scale, noise * scale)


class History(NamedTuple):
    """A curve: steps, ascending, and a value for each."""

    steps: NDArray[np.int64]
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, places: slice | NDArray[np.bool_]) -> "History":
        """Return some of the points."""
        return History(self.steps[places], self.values[places])

    def finite(self) -> "History":
        """Return the points with finite values."""
        return self.at(np.isfinite(self.values))

    def ends(self) -> tuple[Floats, Floats]:
        """The values of the first and of the last fifth of the points."""
        width = max(1, len(self) // 5)
        return self.values[:width], self.values[-width:]

    def early(self) -> float:
        """The median of the first fifth of the points."""
        return float(np.median(self.ends()[0]))

    def late(self) -> float:
        """The median of the last fifth of the points."""
        return float(np.median(self.ends()[1]))

    def windows(self) -> Windows:
        """Return the means over windows of a tenth of the points."""
        return windows_of(self.steps.tolist(), self.values, np.ones(len(self)), np.zeros(len(self)))

    def late_steps(self) -> tuple[int, int]:
        """The first and the last step of the last fifth of the points."""
        steps = self.steps[-max(1, len(self) // 5) :]
        return int(steps[0]), int(steps[-1])


class RunCurves:
    """The curves of an open run, each read once."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._known: dict[tuple[str, ...], History | None] = {}

    def curve(
        self, kind: str, name: str, stat: str = "", source: str = "", reason: str = "", where: str = ""
    ) -> History | None:
        """Return a curve (see `CurveQuery`), perhaps of the samples that match a filter; None if the run lacks it."""
        key = (kind, name, stat, source, reason, where)
        if key not in self._known:
            options = CurveOptions(reason=reason, where=where)
            asked = CurveQuery(kind=kind, name=name, stat=stat, source=source, options=options)
            try:
                curve = query.curve(self._run, asked)
                self._known[key] = History(curve.steps, curve.values) if len(curve.steps) else None
            except (BadQuery, NotFound):
                self._known[key] = None
        return self._known[key]

    def names(self, kind: str) -> list[str]:
        """Return the names of metrics (`trainer`), of evaluations (`eval`), or why samples are discarded (`reason`)."""
        if kind == "trainer":
            return query.metric_names(self._run)
        if kind == "eval":
            return [judge.split for judge in query.judges(self._run)]
        first = next((split.name for split in query.splits(self._run, quick=True)), "train")
        return list(dict.fromkeys(discard.reason for discard in query.discards(self._run, first)))

    def at_token(self, alarm: "Alarm") -> "Alarm":
        """Return an alarm that leads to the token with the greatest value of its order, if samples have tokens."""
        series = alarm.sort.removeprefix("derived.max_")
        if self.curve("sample", alarm.sort, "max") is not None:
            shown = SampleQuery(step_min=alarm.first_step, step_max=alarm.last_step)
            found = query.worst_tokens(self._run, shown, series, limit=1)
            for worst in found.tokens:
                return replace(alarm, sample=str(worst.key), token=worst.token, series=found.series)
        return alarm

    def wrong(self, split: str) -> str:
        """Return the filter of the wrong answers of a split; of the first split by default."""
        return query.wrong_answers(self._run, split)


Candidate = tuple[str, str, str]
"""A kind, a name and a statistic."""


def all_curves(
    source: RunCurves, candidates: list[Candidate], pattern: str = ""
) -> Iterator[tuple[CurveName, History]]:
    """Yield the names and the finite values of the candidates that a run has.

    Metrics of the trainer whose names match `pattern` follow.
    """
    named = [("trainer", name, "") for name in source.names("trainer") if pattern and re.search(pattern, name)]
    for kind, name, stat in [*candidates, *named]:
        curve = source.curve(kind, name, stat)
        if curve is not None and len(curve := curve.finite()):
            yield CurveName(kind, name), curve


class UncheckedRule(Struct, frozen=True, kw_only=True):
    """A rule that could not be checked."""

    rule: str
    reason: str


class NotChecked(Exception):
    """Raised by a rule for which the run has too little data; its text is the reason."""


def counted(count: int, noun: str = "sample") -> str:
    """`1 sample`, `2 samples`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def enough(history: History | None, least: int, noun: str) -> History:
    """Return the points with finite values. Raises `NotChecked` without a curve, and if they are fewer than needed."""
    if history is None:
        raise NotChecked(f"the run has no {noun}")
    finite = history.finite()
    if len(finite) < least:
        raise NotChecked(f"{counted(len(finite), 'step')} with {noun}; {least} are needed")
    return finite


Severity = Literal["error", "hint"]
"""An error is certainly wrong; a hint is worth a look."""


class Alarm(Struct, frozen=True):
    """What a rule found, with the samples that show it."""

    title: str
    """A few words, with the number that matters."""
    text: str
    """The numbers, in a sentence."""
    first_step: int
    last_step: int
    split: str = ""
    """The split of the samples; empty for the first one."""
    where: str = ""
    """The filter of the samples that show it; empty: all of these steps."""
    sort: str = ""
    descending: bool = True
    curves: tuple[CurveName, ...] = ()
    """The curves that show it; none for an alarm about the samples themselves."""
    discarded: bool = False
    """True if the samples that show it were discarded."""
    sample: str = ""
    """The sample with the token that shows it best; empty without a token."""
    token: int | None = None
    """The place of that token in the sample."""
    series: str = ""
    """The token series that it has the greatest value of."""


Look = Callable[[RunCurves], Iterator[Alarm]]


class Rule(NamedTuple):
    """Looks for one thing that goes wrong."""

    name: str
    title: str
    words: str
    """When it raises an alarm, in a sentence with its thresholds."""
    look: Look
    """Raises `NotChecked` if the run, or one of its evaluations, has too little data, perhaps after some alarms."""
    severity: Severity = "hint"


def rule(title: str, severity: Severity = "hint") -> Callable[[Look], Rule]:
    """Make a function the rule of the same name."""
    return lambda look: Rule(look.__name__, title, words_of(look), look, severity)


def words_of(look: Callable[..., Any]) -> str:
    """Return when a rule is broken: the docstring of its function, with the thresholds of its module."""
    words = " ".join((look.__doc__ or "").split()).removesuffix(".").format_map(look.__globals__)
    return words[:1].lower() + words[1:]
