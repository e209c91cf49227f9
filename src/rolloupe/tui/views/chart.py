"""A chart as lines: the curve of a run with those of others, its axis, and what it is about."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.charts import Cell, axis_of, beyond, chart, column_of
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, ends, safe, wrapped
from rolloupe.tui.draw.numbers import count, figure, narrow, score

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


AXIS = 9
"""Cells of the axis at the left."""
LEAST, MOST = 6, 24
"""Lines of a chart: as many as the window has room for, between these."""
AROUND = 3
"""Lines around a chart: its title, its steps, and a blank one."""


class PlotArea(NamedTuple):
    """What was drawn where: its first and last step, the cells of the chart."""

    span: tuple[int, int]
    width: int
    height: int

    def step_at(self, x: int, y: int) -> float | None:
        """Return the step at a cell; None outside."""
        if not (0 <= x < self.width and 0 <= y < self.height):
            return None
        return self.span[0] + (self.span[1] - self.span[0]) * (2 * x + 0.5) / max(1, 2 * self.width - 1)


def chart_lines(
    entry: CurveEntry, curve: Curve, at: int, others: OtherCurves, width: int, room: int
) -> tuple[list[Line], PlotArea | None]:
    """Return a chart with the cursor on a point of the curve, in some lines, and where in them the curve is."""
    values, steps = values_of(curve), curve.steps.tolist()
    title: Line = [(" ", PLAIN), safe(entry.title, STRONG), ("  ", PLAIN), safe(entry.unit, DIM)]
    if not values:
        return [title, [(" no values", DIM)]], None
    span = steps[0], steps[-1]
    curves = [_points(one, span) for one in (curve, *(one for _, one in others.curves))]
    below = [_other_row(nth, name, one, steps[at], width) for nth, (name, one) in enumerate(others.curves, 1)]
    below += [cut(one, width) for one in _not_shown(others)]
    drawn = [[value for _, value in points] for points in curves]
    axis = axis_of(drawn)
    if far := beyond(drawn, axis):
        below.append(cut([(f" {far}", DIM)], width))
    about = visible_line(entry.about)
    below += [[(f" {about[start:stop]}", DIM)] for start, stop in wrapped(about, width - 2)]
    plot, height = max(8, width - AXIS - 2), max(LEAST, min(room - AROUND - len(below), MOST))
    cell = column_of(steps[at], span, 2 * plot) // 2
    rows = chart(curves, plot, height, axis)
    body = [_chart_row(row, cell, _label(nth, *axis, height)) for nth, row in enumerate(rows)]
    here = f"step {steps[at]}  {score(values[at])}"
    foot = ends([(" " * AXIS + f"{span[0]}", DIM)], [(f"{span[1]} ", DIM)], width)
    lines = [ends(title, [(here, ACCENT), (" ", PLAIN)], width), *body, foot, *below]
    return lines, PlotArea(span, plot, height)


def _not_shown(others: OtherCurves) -> list[Line]:
    """Return a line that says how many runs have no curve in the chart, if there are any."""
    lacking = f"{count(others.lacking, 'run')} without this curve" if others.lacking else ""
    left_out = f"{count(others.left_out, 'more run')} not in the chart" if others.left_out else ""
    return [[(f"    {', '.join(filter(None, (lacking, left_out)))}", DIM)]] if lacking or left_out else []


def values_of(curve: Curve | None) -> list[float | None]:
    """Return the values of a curve, None for those that no chart shows."""
    if curve is None:
        return []
    return [value if np.isfinite(value) else None for value in curve.values.tolist()]


def _points(curve: Curve, span: tuple[int, int]) -> list[tuple[int, float | None]]:
    """Return the points between two steps: a chart is of the run that is looked at, however long the others are."""
    points = zip(curve.steps.tolist(), values_of(curve), strict=True)
    return [(step, value) for step, value in points if span[0] <= step <= span[1]]


def _ink(nth: int) -> Ink:
    """Return the colour of a run on charts: the accent for the one that is looked at."""
    return Ink(f"run-{nth + 1}" if nth else "accent")


def _other_row(nth: int, name: str, curve: Curve, step: int, width: int) -> Line:
    """Return the line of another run: its colour, its name, and its value at a step or at the last one before."""
    values = values_of(curve)
    at = int(np.searchsorted(curve.steps, step, side="right")) - 1
    here = f"step {curve.steps[at]}  {score(values[at])} " if at >= 0 else "not begun "
    return ends([(" ━━ ", _ink(nth)), safe(name)], [(here, DIM)], width)


def _label(nth: int, low: float, high: float, height: int) -> str:
    """Return what a line of the chart has on its axis."""
    value = {0: high, height // 2: (low + high) / 2, height - 1: low}.get(nth)
    return "" if value is None else narrow(figure(value), value, AXIS - 1)


def _chart_row(cells: list[Cell], cursor: int, label: str) -> Line:
    line: Line = [(f"{label:>{AXIS - 1}} ", DIM)]
    for curve, run in groupby(enumerate(cells), lambda one: None if one[0] == cursor else one[1].curve):
        ink = Ink("ink-1", "select") if curve is None else _ink(curve)
        line.append(("".join(cell.dots for _, cell in run), ink))
    return line
