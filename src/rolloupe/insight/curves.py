"""The curves that rules look at."""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import CurveOptions, CurveQuery
from rolloupe.tokens import Floats


class CurveName(Struct, frozen=True):
    """A curve that an alarm is about; see `CurveQuery`."""

    kind: str
    name: str
    source: str = ""
    """The evaluation; empty for all other curves."""


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

    def late_steps(self) -> tuple[int, int]:
        """The steps of the last fifth of the points."""
        steps = self.steps[-max(1, len(self) // 5) :]
        return int(steps[0]), int(steps[-1])


class HasCurves(Protocol):
    """Where rules get curves from."""

    def curve(self, kind: str, name: str, stat: str = "", source: str = "", reason: str = "") -> History | None:
        """Return a curve as `CurveQuery` names it; None where the run lacks it."""

    def names(self, kind: str) -> list[str]:
        """Return the names of metrics (`trainer`), of evaluations (`eval`), or why samples are discarded (`reason`)."""

    def wrong(self, split: str) -> str:
        """Return the filter of the wrong answers of a split; of the first one if it is empty."""


class RunCurves:
    """The curves of an open run, each read once."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._known: dict[tuple[str, ...], History | None] = {}

    def curve(self, kind: str, name: str, stat: str = "", source: str = "", reason: str = "") -> History | None:
        """See `HasCurves`."""
        key = (kind, name, stat, source, reason)
        if key not in self._known:
            try:
                options = CurveOptions(reason=reason)
                asked = CurveQuery(kind=kind, name=name, stat=stat, source=source, options=options)
                found = query.curve(self._run, asked)
                self._known[key] = History(found.steps, found.values) if len(found.steps) else None
            except (BadQuery, NotFound):
                self._known[key] = None
        return self._known[key]

    def names(self, kind: str) -> list[str]:
        """See `HasCurves`."""
        if kind == "trainer":
            return query.metric_names(self._run)
        if kind == "eval":
            return [one.split for one in query.judges(self._run)]
        first = next((one.name for one in query.splits(self._run, quick=True)), "train")
        return list(dict.fromkeys(one.reason for one in query.discards(self._run, first)))

    def wrong(self, split: str) -> str:
        """See `HasCurves`."""
        return query.wrong_answers(self._run, split)


Candidate = tuple[str, str, str]
"""A kind, a name and a statistic."""


def first_curve(source: HasCurves, candidates: list[Candidate], pattern: str = "") -> tuple[CurveName, History] | None:
    """Return the first of some curves that a run has; see `all_curves`."""
    return next(all_curves(source, candidates, pattern), None)


def all_curves(
    source: HasCurves, candidates: list[Candidate], pattern: str = ""
) -> Iterator[tuple[CurveName, History]]:
    """Yield those of some curves that a run has, and which each is, by their finite values.

    Metrics of the trainer whose names match `pattern` follow.
    """
    named = [("trainer", name, "") for name in source.names("trainer") if pattern and re.search(pattern, name)]
    for kind, name, stat in [*candidates, *named]:
        curve = source.curve(kind, name, stat)
        if curve is not None and len(curve := curve.finite()):
            yield CurveName(kind, name), curve
