"""`m`: every curve of the run, as on the page, with those of other runs; a cursor on the curve goes to a step."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.charts import Cell, axis_of, beyond, chart, column_of, sparkline
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, ends, padded, safe, wrapped
from rolloupe.tui.draw.numbers import count, figure, narrow, score
from rolloupe.tui.keys import METRIC_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.widgets.lines import LineBar
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

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
        curve = curve_of(run, entry)
        if curve is not None:
            curves.append((run.info.name, curve))
    return OtherCurves(curves, len(runs) - len(curves))


def curve_of(run: OpenRun, entry: CurveEntry) -> Curve | None:
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


SPARK, VALUE = 12, 8
"""Cells of the curve of a row, and of its newest value."""
SECTION, WIDE_SECTION, WIDE = 12, 18, 70
"""Cells of the name of a section, and of a whole one in a list of so many cells."""
AGAIN_S = 2.0
"""The pause between two looks at whether the curves of a run have grown."""


class SplitStep(NamedTuple):
    """A point of a curve: its split, empty for what the trainer logged, and its step. The split may lack the step."""

    split: str
    step: int


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
        self._step = rollouts.nav.place.step
        """The chosen step: the cursor of every curve is on its nearest one."""
        self._drawn: tuple[int, PlotArea | None] = -1, None
        """The number of the drawn curve, and where it is."""

    def compose(self) -> ComposeResult:
        yield self.title_bar("metrics-title", self._title)
        with Horizontal(id="curves"):
            yield RowList("metrics", opens_at_once=False)
            with Vertical(id="chart-pane"):
                yield LineBar("chart", self._chart, "surface-page")
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Ask which curves the run has."""
        self.rows.focus()
        run, split = self.session.run, self.rollouts.nav.place.split
        self.ask("catalogue", lambda: query.curve_catalogue(run, split), self._take)
        self.set_interval(AGAIN_S, lambda: self._look_again(split))

    def _look_again(self, split: str) -> None:
        """Read the curves of a run that has grown; until they are there, the present ones stay."""
        run = self.session.run
        if self.is_current and self._entries is not None and run.version != self._version:
            self._version = run.version
            self.ask("catalogue", lambda: query.curve_catalogue(run, split), self._take)

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
        return [[(" Metrics  ", STRONG), safe(self.rollouts.nav.place.split, ACCENT), (f"  {note}", PLAIN)]]

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
            runs = [run for run in self.rollouts.live.library.runs if run.id != self.session.run.id]

            def keep(found: OtherCurves) -> None:
                self._others[number] = found
                self.redraw("chart")

            kind = f"others {number}"
            wanted = self.questions.wanted(kind)
            if runs:
                self.ask(kind, lambda: others_of(runs, entry, wanted), keep)
        return self._others.get(number, OtherCurves([]))

    def _row(self, number: int, width: int) -> list[Line]:
        assert self._entries is not None
        entry, curve = self._entries[number], self._curve(number)
        values = values_of(curve)
        facts: Line = [
            (f" {sparkline(values, SPARK):{SPARK}} ", DIM),
            (f"{narrow(score(values[-1]), values[-1], VALUE) if values else '–':>{VALUE}} ", STRONG),
        ]
        section = entry.section if number == 0 or self._entries[number - 1].section != entry.section else ""
        head = [*padded([(" ", PLAIN), safe(section, DIM)], WIDE_SECTION if width > WIDE else SECTION), (" ", PLAIN)]
        return [ends([*head, safe(entry.title)], facts, width)]

    def _chart(self, width: int) -> list[Line]:
        curve = self._curve(self.rows.cursor) if self._entries else None
        if curve is None or self._entries is None:
            return [[]]
        entry = self._entries[self.rows.cursor]
        others = self._of_others(self.rows.cursor, entry)
        at, room = self._place_in(curve) if len(curve.steps) else 0, self.query_one("#chart-pane").size.height
        lines, area = chart_lines(entry, curve, at, others, width, room)
        self._drawn = self.rows.cursor, area
        return lines

    def on_line_bar_clicked(self, event: LineBar.Clicked) -> None:
        """Move the cursor of the curve to the step under the mouse."""
        curve, (number, area) = self._curves.get(self.rows.cursor), self._drawn
        if event.bar.id != "chart" or curve is None or area is None or number != self.rows.cursor:
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
        curve = self._curves.get(self.rows.cursor)
        if curve is not None and len(curve.steps):
            at = self._place_in(curve) + by
            self._step = int(curve.steps[max(0, min(at, len(curve.steps) - 1))])
            self.redraw("chart")
