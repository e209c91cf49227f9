"""Curves of several runs: the one that a person looks at, and the same of the others."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry

POINTS = 2000
"""Points of a curve, at most."""
OTHERS = 5
"""Other runs in a chart, at most: as many as have a colour."""


class OtherCurves(NamedTuple):
    """The same curve of other runs, with their names; how many runs lack it, and how many were not asked for it."""

    curves: list[tuple[str, Curve]]
    lacking: int = 0
    left_out: int = 0


def others_of(runs: Sequence[OpenRun], entry: CurveEntry, is_wanted: Callable[[], bool]) -> OtherCurves:
    """Read the curve of other runs, until there are as many as have a colour, or nobody wants it any more."""
    curves: list[tuple[str, Curve]] = []
    for asked, run in enumerate(runs):
        if len(curves) == OTHERS or not is_wanted():
            return OtherCurves(curves, asked - len(curves), len(runs) - asked)
        curve = _curve_of(run, entry)
        if curve is not None:
            curves.append((run.info.name, curve))
    return OtherCurves(curves, len(runs) - len(curves))


def _curve_of(run: OpenRun, entry: CurveEntry) -> Curve | None:
    """Return the curve of a run, None if it has no such one."""
    try:
        curve = query.curves(run, [entry.query], most=POINTS)[0]
    except (BadQuery, NotFound):
        return None
    return curve if len(curve.steps) else None
