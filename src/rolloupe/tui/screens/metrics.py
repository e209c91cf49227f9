"""`m`: every curve of the run, as on the page; a cursor on the curve goes to a step."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry
from rolloupe.tui.draw.axis import axis_of, beyond
from rolloupe.tui.draw.braille import Cell, chart, column_of, sparkline
from rolloupe.tui.draw.figures import brief, count
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, ends, padded, safe
from rolloupe.tui.screen_keys import METRIC_KEYS
from rolloupe.tui.screens.back import BackScreen
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

POINTS, SPARK, AXIS = 2000, 12, 9
LEAST, MOST = 6, 24
"""Lines of a chart: as many as the window has room for, between these."""
AROUND = 4
"""Lines around a chart: its title, its steps, what it is about, and a blank one."""
AGAIN_S = 2.0
"""The pause between two looks at whether the curves of a run have grown."""
OTHERS = 5
"""Other runs in the chart, at most: as many as have a colour."""


class SplitStep(NamedTuple):
    """A point of a curve: its split, empty for what the trainer logged, and its step. The split may lack the step."""

    split: str
    step: int


class OtherCurves(NamedTuple):
    """The same curve of other runs, with their names; how many runs lack it, and how many were not asked for it."""

    curves: list[tuple[str, Curve]]
    lacking: int = 0
    left_out: int = 0


class PlotArea(NamedTuple):
    """What was drawn where: the number of the curve, its first and last step, the cells of the chart."""

    curve: int
    span: tuple[int, int]
    width: int
    height: int

    def step_at(self, x: int, y: int) -> float | None:
        """Return the step at a cell; None outside."""
        if not (0 <= x < self.width and 0 <= y < self.height):
            return None
        return self.span[0] + (self.span[1] - self.span[0]) * (2 * x + 0.5) / max(1, 2 * self.width - 1)


class MetricsScreen(BackScreen[SplitStep]):
    """The curves. Returns the point that a person goes to."""

    KEYS = METRIC_KEYS

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(rollouts)
        self._entries: list[CurveEntry] | None = None
        self._curves: dict[int, Curve] = {}
        self._read: set[int] = set()
        """The curves that are asked for."""
        self._others: dict[int, OtherCurves] = {}
        """The same curve of the other open runs, by the number of the curve."""
        self._others_read: set[int] = set()
        self._version = self.session.run.version
        self._step = rollouts.place.step
        """The chosen step: the cursor of every curve is on its nearest one."""
        self._drawn: PlotArea | None = None

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.title_bar("metrics-title", self._title)
        with Horizontal(id="curves"):
            yield RowList("metrics", opens_at_once=False)
            with Vertical(id="chart-pane"):
                yield LineBar("chart", self._chart, "surface-page")
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Ask which curves the run has."""
        self.rows.focus()
        run, split = self.session.run, self.rollouts.place.split
        self.ask("catalogue", lambda: query.curve_catalogue(run, split), self._take)
        self.set_interval(AGAIN_S, lambda: self._look_again(split))

    def _look_again(self, split: str) -> None:
        """Read the curves of a run that has grown; until they are there, the present ones stay."""
        run = self.session.run
        if self.is_current and self._entries is not None and run.version != self._version:
            self._version = run.version
            self.ask("catalogue", lambda: query.curve_catalogue(run, split), self._take)

    @property
    def rows(self) -> RowList:
        """The list of curves."""
        return self.query_one("#metrics", RowList)

    def _take(self, entries: list[CurveEntry]) -> None:
        before, self._entries = self._entries or [], entries
        places = {one.query: number for number, one in enumerate(entries)}
        moved = {number: places[one.query] for number, one in enumerate(before) if one.query in places}
        self._curves = {moved[number]: curve for number, curve in self._curves.items() if number in moved}
        self._others = {moved[number]: curves for number, curves in self._others.items() if number in moved}
        for number in (*self._read, *self._others_read):  # their answers would come under old numbers
            self.questions.forget(f"curve {number}")
            self.questions.forget(f"others {number}")
        self._read, self._others_read = set(), set()
        self.rows.fill(len(entries), self._row, moved.get(self.rows.cursor, 0))
        self.redraw("metrics-title", "chart")

    def _title(self, _: int) -> list[Line]:
        note = "Reading …" if self._entries is None else "" if self._entries else "This run has no curves."
        return [[(" Metrics  ", STRONG), (note, PLAIN)]]

    def _curve(self, number: int) -> Curve | None:
        """Return a curve, or ask for it."""
        if self._entries is None or number >= len(self._entries):
            return None
        if number not in self._read:
            self._read.add(number)
            run, entry = self.session.run, self._entries[number]
            self.ask(
                f"curve {number}",
                lambda: query.curves(run, [entry.query], most=POINTS)[0],
                lambda curve: self._keep(number, curve),
            )
        return self._curves.get(number)

    def _keep(self, number: int, curve: Curve) -> None:
        self._curves[number] = curve
        self.rows.refresh()
        self.redraw("chart")

    def _place_in(self, curve: Curve, step: float | None = None) -> int:
        """Return the number of the point nearest to a step, or to the chosen one."""
        return int(np.abs(curve.steps - (self._step if step is None else step)).argmin())

    def _of_others(self, number: int, entry: CurveEntry) -> OtherCurves:
        """Return the same curve of other runs, or ask for it."""
        if number not in self._others_read:
            self._others_read.add(number)
            library, own = self.rollouts.library, self.session.run
            runs = [run for run in library.runs if run.id != own.id] if library is not None else []

            def keep(found: OtherCurves) -> None:
                self._others[number] = found
                self.redraw("chart")

            if runs:
                self.ask(f"others {number}", lambda: _others_of(runs, entry), keep)
        return self._others.get(number, OtherCurves([]))

    def _row(self, number: int, width: int) -> list[Line]:
        assert self._entries is not None
        entry, curve = self._entries[number], self._curve(number)
        values = _values(curve)
        facts: Line = [
            (f" {sparkline(values, SPARK):{SPARK}} ", DIM),
            (f"{brief(values[-1]) if values else '–':>8} ", STRONG),
        ]
        section = entry.section if number == 0 or self._entries[number - 1].section != entry.section else ""
        head = [*padded([(" ", PLAIN), safe(section, DIM)], 12), (" ", PLAIN)]
        return [ends([*head, safe(entry.title)], facts, width)]

    def _chart(self, width: int) -> list[Line]:
        curve = self._curve(self.rows.cursor) if self._entries else None
        if curve is None or self._entries is None:
            return [[]]
        entry, values, steps = self._entries[self.rows.cursor], _values(curve), curve.steps.tolist()
        title: Line = [(" ", PLAIN), safe(entry.title, STRONG), ("  ", PLAIN), safe(entry.unit, DIM)]
        if not values:
            return [title, [(" no values", DIM)]]
        at = self._place_in(curve)
        others = self._of_others(self.rows.cursor, entry)
        span = steps[0], steps[-1]
        curves = [_points(one, span) for one in (curve, *(one for _, one in others.curves))]
        beside = [_other_row(nth, name, one, steps[at], width) for nth, (name, one) in enumerate(others.curves, 1)]
        beside += [cut(one, width) for one in _not_shown(others)]
        drawn = [[value for _, value in points] for points in curves]
        axis = axis_of(drawn)
        if far := beyond(drawn, axis):
            beside.append(cut([(f" {far}", DIM)], width))
        plot, height = max(8, width - AXIS - 2), self._height(len(beside))
        cell = column_of(steps[at], span, 2 * plot) // 2
        rows = chart(curves, plot, height, axis)
        self._drawn = PlotArea(self.rows.cursor, span, plot, height)
        body = [_chart_row(row, cell, _label(nth, *axis, height)) for nth, row in enumerate(rows)]
        here = f"step {steps[at]}  {brief(values[at])}"
        foot = ends([(" " * AXIS + f"{span[0]}", DIM)], [(f"{span[1]} ", DIM)], width)
        about = cut([(" ", PLAIN), safe(entry.about, DIM)], width)
        return [ends(title, [(here, ACCENT), (" ", PLAIN)], width), *body, foot, *beside, about]

    def _height(self, beside: int) -> int:
        return max(LEAST, min(self.query_one("#chart-pane").size.height - AROUND - beside, MOST))

    def on_line_bar_clicked(self, event: LineBar.Clicked) -> None:
        """Move the cursor of the curve to the step under the mouse."""
        curve, area = self._curves.get(self.rows.cursor), self._drawn
        if event.bar.id != "chart" or curve is None or area is None or area.curve != self.rows.cursor:
            return
        step = area.step_at(event.x - AXIS, event.y - 1)
        if step is not None:
            self._step = int(curve.steps[self._place_in(curve, step)])
            self.redraw("chart")

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Show a curve."""
        event.stop()
        self.redraw("chart")

    @property
    def is_reading(self) -> bool:
        """True until the list of curves is there."""
        return self._entries is None

    def must_wait(self, action: str) -> bool:
        """Return whether an action needs the list, or the curve under the cursor."""
        has_curve = not self._entries or self.rows.cursor in self._curves
        return super().must_wait(action) or (action in ("step", "choose") and not has_curve)

    def choose(self, number: int) -> None:
        """Go to the step of the cursor."""
        curve = self._curves.get(number)
        if curve is not None and len(curve.steps):
            self.dismiss(SplitStep(curve.query.source, int(curve.steps[self._place_in(curve)])))

    def action_step(self, by: int) -> None:
        """Move along the curve."""
        curve = self._curves.get(self.rows.cursor)
        if curve is not None and len(curve.steps):
            at = self._place_in(curve) + by
            self._step = int(curve.steps[max(0, min(at, len(curve.steps) - 1))])
            self.redraw("chart")


def _others_of(runs: Sequence[OpenRun], entry: CurveEntry) -> OtherCurves:
    """Read the curve of other runs, until there are as many as have a colour."""
    curves: list[tuple[str, Curve]] = []
    for asked, run in enumerate(runs):
        if len(curves) == OTHERS:
            return OtherCurves(curves, asked - OTHERS, len(runs) - asked)
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


def _not_shown(others: OtherCurves) -> list[Line]:
    """Return a line that says how many runs have no curve in the chart, if there are any."""
    lacking = f"{count(others.lacking, 'run')} without this curve" if others.lacking else ""
    left_out = f"{count(others.left_out, 'more run')} not in the chart" if others.left_out else ""
    return [[(f"    {', '.join(filter(None, (lacking, left_out)))}", DIM)]] if lacking or left_out else []


def _values(curve: Curve | None) -> list[float | None]:
    if curve is None:
        return []
    return [value if np.isfinite(value) else None for value in curve.values.tolist()]


def _points(curve: Curve, span: tuple[int, int]) -> list[tuple[int, float | None]]:
    """Return the points between two steps: a chart is of the run that is looked at, however long the others are."""
    points = zip(curve.steps.tolist(), _values(curve), strict=True)
    return [(step, value) for step, value in points if span[0] <= step <= span[1]]


def _ink(nth: int) -> Ink:
    """Return the colour of a run on charts: the accent for the one that is looked at."""
    return Ink(f"run-{nth + 1}" if nth else "accent")


def _other_row(nth: int, name: str, curve: Curve, step: int, width: int) -> Line:
    """Return the line of another run: its colour, its name, and its value at a step or at the last one before."""
    values = _values(curve)
    at = int(np.searchsorted(curve.steps, step, side="right")) - 1
    here = f"step {curve.steps[at]}  {brief(values[at])} " if at >= 0 else "not begun "
    return ends([(" ━━ ", _ink(nth)), safe(name)], [(here, DIM)], width)


def _label(nth: int, low: float, high: float, height: int) -> str:
    """Return what a line of the chart has on its axis."""
    value = {0: high, height // 2: (low + high) / 2, height - 1: low}.get(nth)
    return "" if value is None else brief(value)


def _chart_row(cells: list[Cell], cursor: int, label: str) -> Line:
    line: Line = [(f"{label:>{AXIS - 1}} ", DIM)]
    for curve, run in groupby(enumerate(cells), lambda one: None if one[0] == cursor else one[1].curve):
        ink = Ink("ink-1", "select") if curve is None else _ink(curve)
        line.append(("".join(cell.dots for _, cell in run), ink))
    return line
