"""`m`: every curve of the run, as on the page, with those of other runs; the cursor on a curve leads to its step."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from rolloupe import query
from rolloupe.errors import BadQuery, NotFound
from rolloupe.index import OpenRun
from rolloupe.query import Curve, CurveEntry
from rolloupe.tui.draw.charts import Cell, axis_of, beyond, chart, column_of, sparkline
from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Ink, Line, cut, ends, folded, padded, safe
from rolloupe.tui.draw.numbers import count, figure, narrow, score
from rolloupe.tui.keys import METRIC_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.widgets.lines import LineBar, RowList

if TYPE_CHECKING:
    from rolloupe.insight.curves import CurveName
    from rolloupe.tui.screens.rollouts import Rollouts

A = TypeVar("A")

POINTS = 2000
"""Points of a curve, at most."""
OTHERS = 5
"""Other runs in a chart, at most: as many as have a colour."""


class OtherCurves(NamedTuple):
    """The same curve of other runs, with their names; how many runs lack it, and how many were not queried."""

    curves: list[tuple[str, Curve]]
    lacking: int = 0
    left_out: int = 0


def others_of(runs: Sequence[OpenRun], entry: CurveEntry, is_wanted: Callable[[], bool]) -> OtherCurves:
    """Read the curve of other runs, until each colour has a run, or nobody wants the curves any more."""
    curves: list[tuple[str, Curve]] = []
    for asked, run in enumerate(runs):
        if len(curves) == OTHERS or not is_wanted():
            return OtherCurves(curves, asked - len(curves), len(runs) - asked)
        curve = curve_of(run, entry)
        if curve is not None:
            curves.append((run.info.name, curve))
    return OtherCurves(curves, len(runs) - len(curves))


def curve_of(run: OpenRun, entry: CurveEntry) -> Curve | None:
    """Return the curve of a run, None if it lacks it."""
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
    """Where a chart was drawn: its first and last step, and its cells."""

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
    """Return the lines of a chart with the cursor on a point of the curve, and where in them the curve is."""
    values, steps = values_of(curve), curve.steps.tolist()
    title: Line = [(" ", PLAIN), safe(entry.title, STRONG), ("  ", PLAIN), safe(entry.unit, DIM)]
    if not values:
        return [title, [(" no values", DIM)]], None
    first, last = span = steps[0], steps[-1]
    curves, below = [], []
    for nth, (name, other) in enumerate([("", curve), *others.curves]):
        # The chart covers the steps of the run on the screen, even if other runs are longer.
        points = zip(other.steps.tolist(), values_of(other), strict=True)
        curves.append([(step, value) for step, value in points if first <= step <= last])
        if nth:
            before = int(np.searchsorted(other.steps, steps[at], side="right")) - 1
            here = f"step {other.steps[before]}  {score(values_of(other)[before])} " if before >= 0 else "not begun "
            below.append(ends([(" ━━ ", _ink(nth)), safe(name)], [(here, DIM)], width))
    lacking = [f"{count(others.lacking, 'run')} without this curve"] if others.lacking else []
    lacking += [f"{count(others.left_out, 'more run')} not in the chart"] if others.left_out else []
    below += [cut([(f"    {', '.join(lacking)}", DIM)], width)] if lacking else []
    drawn = [[value for _, value in points] for points in curves]
    axis = axis_of(drawn)
    if far := beyond(drawn, axis):
        below.append(cut([(f" {far}", DIM)], width))
    below += [[(f" {text}", DIM)] for text in folded(entry.about, width - 2)]
    plot, height = max(8, width - AXIS - 2), max(LEAST, min(room - AROUND - len(below), MOST))
    cell = column_of(steps[at], span, 2 * plot) // 2
    labels = {0: axis[1], height // 2: sum(axis) / 2, height - 1: axis[0]}
    body = [_chart_row(row, cell, labels.get(nth)) for nth, row in enumerate(chart(curves, plot, height, axis))]
    here = f"step {steps[at]}  {score(values[at])}"
    foot = ends([(" " * AXIS + f"{span[0]}", DIM)], [(f"{span[1]} ", DIM)], width)
    lines = [ends(title, [(here, ACCENT), (" ", PLAIN)], width), *body, foot, *below]
    return lines, PlotArea(span, plot, height)


def values_of(curve: Curve | None) -> list[float | None]:
    """Return the values of a curve, with None for values that no chart can show."""
    if curve is None:
        return []
    return [value if np.isfinite(value) else None for value in curve.values.tolist()]


def _ink(nth: int) -> Ink:
    return Ink(f"run-{nth + 1}" if nth else "accent")


def _chart_row(cells: list[Cell], cursor: int, value: float | None) -> Line:
    label = "" if value is None else narrow(figure(value), value, AXIS - 1)
    line: Line = [(f"{label:>{AXIS - 1}} ", DIM)]
    for curve, run in groupby(enumerate(cells), lambda cell: None if cell[0] == cursor else cell[1].curve):
        ink = Ink("ink-1", "select") if curve is None else _ink(curve)
        line.append(("".join(cell.dots for _, cell in run), ink))
    return line


SPARK, VALUE = 12, 8
"""Cells of the curve of a row, and of its newest value."""
SECTION, WIDE_SECTION, WIDE = 12, 18, 70
"""Cells of the name of a section; more cells in a list of at least `WIDE` cells."""
AGAIN_S = 2.0
"""The pause between two looks at whether the curves of a run have grown."""


class SplitStep(NamedTuple):
    """A point of a curve: its split (empty for the trainer's metrics) and its step. The split may lack the step."""

    split: str
    step: int


class MetricsScreen(BackScreen[SplitStep]):
    """The curves. Returns the point that a person goes to."""

    KEYS = METRIC_KEYS

    def __init__(self, rollouts: "Rollouts", curve: "CurveName | None" = None, step: int | None = None) -> None:
        super().__init__(rollouts)
        self._wanted = curve
        """The curve that the cursor begins at."""
        self._entries: list[CurveEntry] = []
        self._is_read = False
        self._answers: dict[str, Any] = {}
        """Curves, and the same curves of the other open runs, by their questions."""
        self._asked_of: set[str] = set()
        """The questions that were asked about the present state of the run."""
        self._version = ""
        self._step = rollouts.nav.place.step if step is None else step
        """The chosen step: the cursor of every curve is on its nearest one."""
        self._drawn: tuple[int, PlotArea | None] = -1, None
        """The number of the drawn curve, and where it is."""

    def body(self) -> Iterator[Widget]:
        with Horizontal(id="curves"):
            yield RowList("metrics", self.choose, lambda _: self.redraw("chart"), opens_at_once=False)
            with Vertical(id="chart-pane"):
                yield LineBar("chart", self._chart, "surface-page", self._click_chart)

    def on_mount(self) -> None:
        split = self.rollouts.nav.place.split
        self._ask(split)
        self.set_interval(AGAIN_S, lambda: self._ask(split) if self.is_current and self._is_read else None)

    def _ask(self, split: str) -> None:
        """Read the curves, unless the run is unchanged; until they are read, the present curves stay."""
        run = self.session.run
        if run.version != self._version:
            self._version = run.version
            self.ask("catalogue", lambda: query.curve_catalogue(run, split), self._take)

    def _take(self, entries: list[CurveEntry]) -> None:
        chosen = self._entries[self.rows.cursor].query if self._entries else None
        self._entries, self._is_read = entries, True
        self._asked_of.clear()
        if (wanted := self._wanted) is not None:
            places = [number for number, entry in enumerate(entries) if wanted.names(entry.query)]
        else:
            places = [number for number, entry in enumerate(entries) if entry.query == chosen]
        self._wanted = None
        self.rows.fill(len(entries), self._row, places[0] if places else 0)
        self.redraw("title", "chart")

    def title_lines(self, width: int) -> list[Line]:
        del width
        note = "" if self._entries else "This run has no curves." if self._is_read else "Reading …"
        return [[(" Metrics  ", STRONG), safe(self.rollouts.nav.place.split, ACCENT), (f"  {note}", PLAIN)]]

    def _answer(self, kind: str, work: Callable[[], A]) -> A | None:
        """Return the answer to a question, or ask it; until a newer answer arrives, the present one stays."""

        def keep(answer: A) -> None:
            self._answers[kind] = answer
            self.rows.refresh()
            self.redraw("chart")

        if kind not in self._asked_of:
            self._asked_of.add(kind)
            self.ask(kind, work, keep)
        answer: A | None = self._answers.get(kind)
        return answer

    def _curve(self, number: int) -> Curve | None:
        if number >= len(self._entries):
            return None
        run, asked = self.session.run, self._entries[number].query
        return self._answer(f"curve {asked}", lambda: query.curves(run, [asked], most=POINTS)[0])

    def _place_in(self, curve: Curve, step: float | None = None) -> int:
        """Return the number of the point nearest to a step, or to the chosen one."""
        return int(np.abs(curve.steps - (self._step if step is None else step)).argmin())

    def _row(self, number: int, width: int) -> list[Line]:
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
        curve = self._curve(self.rows.cursor)
        if curve is None:
            return [[]]
        entry = self._entries[self.rows.cursor]
        runs = [run for run in self.rollouts.live.library.runs if run.id != self.session.run.id]
        kind = f"others {entry.query}"
        wanted = self.questions.wanted(kind)
        others = (self._answer(kind, lambda: others_of(runs, entry, wanted)) if runs else None) or OtherCurves([])
        at, room = self._place_in(curve) if len(curve.steps) else 0, self.query_one("#chart-pane").size.height
        lines, area = chart_lines(entry, curve, at, others, width, room)
        self._drawn = self.rows.cursor, area
        return lines

    def _click_chart(self, x: int, y: int) -> None:
        curve, (number, area) = self._curve(self.rows.cursor), self._drawn
        if curve is None or area is None or number != self.rows.cursor:
            return
        step = area.step_at(x - AXIS, y - 1)
        if step is not None:
            self._step = int(curve.steps[self._place_in(curve, step)])
            self.redraw("chart")

    @property
    def is_reading(self) -> bool:
        return not self._is_read

    def must_wait(self, action: str) -> bool:
        has_curve = not self._entries or self._curve(self.rows.cursor) is not None
        return super().must_wait(action) or (action in ("step", "choose") and not has_curve)

    def choose(self, number: int) -> None:
        curve = self._curve(number)
        if curve is not None and len(curve.steps):
            self.dismiss(SplitStep(curve.query.source, int(curve.steps[self._place_in(curve)])))

    def action_step(self, by: int) -> None:
        curve = self._curve(self.rows.cursor)
        if curve is not None and len(curve.steps):
            at = self._place_in(curve) + by
            self._step = int(curve.steps[max(0, min(at, len(curve.steps) - 1))])
            self.redraw("chart")
