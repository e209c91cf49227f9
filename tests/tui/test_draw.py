"""Figures and small charts."""

import json
import math
from collections.abc import Sequence
from unittest.mock import ANY

import pytest

from rolloupe.insight.findings import Finding, Prevalence, ReadingList
from rolloupe.query import Catalogue, Stats, StepSummary
from rolloupe.tui.draw.charts import axis_of, beyond, block_of, chart, sparkline, thinned
from rolloupe.tui.draw.ink import DIM, PLAIN, SIXTEEN_PALETTE, Ink, Line, cut, padded
from rolloupe.tui.draw.numbers import listed
from rolloupe.tui.run import session
from rolloupe.tui.run.session import ListPlace, RunState
from rolloupe.tui.screens import find
from rolloupe.tui.screens.find import places_in
from rolloupe.tui.screens.findings import row_of_finding
from rolloupe.tui.views.samples import Marks, TextBlock, as_text, flowed, run_line, spark_place, step_at


def test_a_row_of_blocks_keeps_the_lowest_and_the_highest_value() -> None:
    values = [5.0] * 2000
    values[700], values[1500] = 100.0, -100.0
    assert {700, 1500} <= {*thinned(values, 24)} and len(thinned(values, 24)) == 24
    assert sparkline(values, 24).count("█") == 1 and sparkline(values, 24).count("▁") == 1
    assert thinned(values, 24) == sorted(thinned(values, 24)) == thinned(values, 25)
    assert thinned([1.0, None, 2.0], 24) == [0, 1, 2] and sparkline([1.0, None, 2.0], 24) == "▁·█"
    assert thinned([None] * 9, 4) == [0, 0, 4, 4] and thinned([], 4) == []


def test_what_a_header_shows_of_thousands_of_steps_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    thinnings: list[int] = []

    def counted(values: Sequence[float | None], width: int) -> list[int]:
        thinnings.append(width)
        return thinned(values, width)

    monkeypatch.setattr(session, "thinned", counted)
    steps = [StepSummary("train", n, 8, Stats(8, n % 7 / 7, 0.1, 0.0, 1.0, 0)) for n in range(1000)]
    state = RunState("v", "train", [], steps, Catalogue([], 0), [], [], 0, "ready", 1.0, None, is_live=False)
    lines = [run_line("run", ListPlace(step=step), state, {}, Marks(), 120) for step in (999, 500)]
    state.changed_s = 5.0
    lines.append(run_line("run", ListPlace(step=500), state, {}, Marks(), 120))
    assert len(thinnings) == 1 and step_at(state, lines[0], spark_place(lines[0])[0]) == 0
    assert lines[1] == lines[2] != lines[0]


def test_a_header_names_no_step_of_a_run_whose_files_are_gone() -> None:
    state = RunState("v", "train", [], [], Catalogue([], 0), [], [], 0, "ready", 1.0, None, is_live=False)
    line = "".join(text for text, _ in run_line("run", ListPlace(step=9), state, {}, Marks(), 120))
    assert "run   train" in line and "step" not in line and "9" not in line


@pytest.mark.parametrize(("view", "end"), [("text", "  +17  s table"), ("table", "  +17"), ("tokens", "  +17")])
def test_figures_without_room_are_counted_with_the_key_that_shows_them(view: str, end: str) -> None:
    lines = ["".join(text for text, _ in line) for line in flowed([[("abc 1.00", PLAIN)]] * 25, 53, 2, view)]
    assert len(lines) == 2 and lines[1].endswith(f"abc 1.00{end}") and max(map(len, lines)) <= 53
    wide: list[Line] = [[("abc 1.00", PLAIN)], [("x" * 42, PLAIN)], [("abc 1.00", PLAIN)]]
    assert ["".join(text for text, _ in line) for line in flowed(wide, 53, 2, view)][1] == f" {'x' * 42}  +1"


def test_figures_of_findings_have_the_minus_of_all_others() -> None:
    found = Finding(
        text="", kind="suspect", effect=-0.5, z=-9.0, first=0.1, last=0.9, rise=5.0, correctness=-0.25,
        prevalence=Prevalence([], [], [], []), samples=ReadingList(earliest="train/0/1/2"),
    )  # fmt: skip
    assert row_of_finding(found).facts == "z −9.0, effect −0.500, on correctness −0.250"


def test_of_a_long_list_the_limit_is_named() -> None:
    assert [listed(300, number, "sample") for number in (1, 300, 2000)] == [
        "1 sample", "300 samples", "first 300 of 2,000 samples",
    ]  # fmt: skip


def test_the_height_of_a_block_is_a_share_of_a_whole() -> None:
    blocks = [block_of(correct / 8) for correct in range(9)]
    assert blocks == sorted(blocks) and (blocks[0], blocks[4], blocks[8]) == (0, 4, 7)
    assert block_of(0.001) == 1 and block_of(0.999) == 6, "neither nothing nor all"


def test_numbers_that_json_lacks_have_one_spelling() -> None:
    values = {"a": math.inf, "b": [math.nan, -math.inf], "c": None}
    assert json.loads(as_text(values)) == {"a": math.inf, "b": [ANY, -math.inf], "c": None} and "NaN" in as_text(values)


@pytest.mark.parametrize(
    ("values", "row"),
    [([2.0**60] * 3, "▅▅▅"), ([1.7e308] * 2, "▅▅"), ([-1.7e308, 0.0, 1.7e308], "▁▅█"), ([-1e308, 1e308, 0.0], "▁█▅")],
)
def test_the_largest_numbers_are_drawn(values: list[float], row: str) -> None:
    assert sparkline(values, 8) == row
    assert len(chart([list(enumerate(values))], 4, 2)) == 2


def test_one_spike_does_not_press_a_curve_flat() -> None:
    values: list[float | None] = [float(step % 10) for step in range(200)]
    assert axis_of([values]) == (0.0, 9.0) and beyond([values], (0.0, 9.0)) == ""
    values[70] = 1e6
    axis = axis_of([values])
    assert axis == (0.0, 9.0) and beyond([values], axis) == "▲ 1 point above: 1,000,000"
    points = [list(enumerate(values))]
    flat, whole = chart(points, 40, 6), chart(points, 40, 6, axis)
    ink = [sum(cell.dots != "\u2800" for row in rows for cell in row) for rows in (flat, whole)]
    assert ink[1] > 3 * ink[0] and any(cell.dots != "\u2800" for cell in whole[0])
    last = [*values, -1e6]
    assert axis_of([last])[0] == -1e6, "the newest point is in sight"
    assert axis_of([[0.0] * 50 + [1.0]]) == (0.0, 1.0), "a curve with equal quartiles shows all"
    learnt: list[float | None] = [0.05, 0.2, 0.5, *(0.99 + 0.001 * (step % 10) for step in range(197))]
    assert axis_of([learnt])[0] == 0.05, "what a run learns first is in sight"
    assert axis_of([[*learnt[:100], 1e6, *learnt[100:]]])[0] == 0.05
    assert axis_of([[1.0, 1e9]]) == (1.0, 1e9) and axis_of([[]]) == (-0.5, 0.5)
    assert axis_of([[float(step % 9) for step in range(99)] + [1.7e308, -1.7e308, 0.0]]) == (0.0, 8.0)


def test_a_limit_of_matches_is_no_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MOST", 4)
    totals = {n: places_in([TextBlock("response", [], "ab " * n), TextBlock("label", [], "-")], "a") for n in (0, 4, 5)}
    assert [totals[n].total for n in totals] == ["0", "4", "more than 4"] and len(totals[5].places) == 4


def test_sixteen_colours_are_told_apart() -> None:
    names = (
        "ink-1",
        "ink-2",
        "ink-3",
        "ink-ghost",
        "accent",
        "warn",
        "alarm",
        "reward-ink-0",
        "reward-ink-4",
        "role-user",
    )
    for ground in ("select", "match", "heat", "div-neg", "div-pos", "accent"):
        for name in names:
            style = SIXTEEN_PALETTE.style(Ink(name), ground)
            assert style.color is not None and style.bgcolor is not None
            assert style.color.name == ("white" if style.bgcolor.name in ("blue", "magenta") else "black"), (
                name,
                ground,
            )
    faint = SIXTEEN_PALETTE.style(DIM, "surface-page")
    assert (faint.color and faint.color.name, faint.dim) == ("default", True), "bright black may be the background"


def test_a_line_without_a_cell_is_empty() -> None:
    line = [("a name", PLAIN), ("日本", PLAIN)]
    assert [cut(line, width) for width in (-5, 0)] == [[], []] and padded(line, -1)[0][0] == ""
