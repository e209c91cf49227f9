"""The terminal shows numbers, colours and words as the page: see `web/src/features/tokens/update/terminal.test.ts`."""

import json
import re
from math import cos, radians, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rolloupe.query import Catalogue, ColumnInfo
from rolloupe.tui.draw.ink import COLOURS
from rolloupe.tui.draw.numbers import brief, figure, narrow, scales_of, score, signed
from rolloupe.tui.views.tokens import EFFECTS, FIRST, FLAGS, TokenScale, scale_of, update_scale

HERE = Path(__file__).parents[2]
SHOWN: dict[str, Any] = json.loads((HERE / "tests/data/wire/shown.json").read_text(encoding="utf-8"))
"""What both must show."""
STYLES = (HERE / "web/src/styles/tokens.css").read_text(encoding="utf-8")
COLOUR = re.compile(r"--([\w-]+): light-dark\(oklch\(([\d.]+) ([\d.]+) (\d+)\), oklch\(([\d.]+) ([\d.]+) (\d+)\)\);")

OWN = {"select"}
"""Colours of the terminal alone: the page draws what is chosen half transparent."""


def srgb(light: float, chroma: float, hue: float) -> tuple[int, ...]:
    """A colour of the page as a screen has it."""
    a, b = chroma * cos(radians(hue)), chroma * sin(radians(hue))
    l, m, s = (  # noqa: E741
        (light + x * a + y * b) ** 3
        for x, y in ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480))
    )
    linear = (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )
    bright = (12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055 for x in (max(0.0, y) for y in linear))
    return tuple(round(255 * min(1.0, x)) for x in bright)


def test_the_colours_are_those_of_the_page() -> None:
    page: dict[str, tuple[tuple[int, ...], ...]] = {}
    for name, *rest in COLOUR.findall(STYLES):
        page.setdefault(name, (srgb(*map(float, rest[:3])), srgb(*map(float, rest[3:]))))  # others can be chosen
    far = {
        name: (colour, wanted)
        for name, (light, dark, _) in COLOURS.items()
        if name not in OWN
        for colour, wanted in zip((light, dark), page[name], strict=True)
        if max(abs(int(colour[n : n + 2], 16) - one) for n, one in zip((1, 3, 5), wanted, strict=True)) > 1
    }
    assert far == {}


@pytest.mark.parametrize("one", SHOWN["numbers"], ids=lambda one: str(one["value"]))
def test_numbers(one: dict[str, Any]) -> None:
    value = float(one["value"])
    assert [figure(value), score(value), signed(value), brief(value)] == [
        one[name] for name in ("figure", "score", "signed", "brief")
    ]


def test_whole_numbers_and_narrow_places() -> None:
    assert [score(100), score(99), signed(3), figure(2**60), score(None)] == [
        "100", "99.0", "+3.00", "1,152,921,504,606,846,976", "–",
    ]  # fmt: skip
    assert [narrow("1,234,567", 1234567.0, 8), narrow("0.250", 0.25, 8), narrow("–", None, 0)] == ["1.2M", "0.250", "–"]


@pytest.mark.parametrize("one", SHOWN["columns"], ids=lambda one: f"{one['name']} {one['low']} {one['best']}")
def test_the_inks_of_columns(one: dict[str, Any]) -> None:
    column = ColumnInfo(
        one["name"], one["kind"], "metric", *(one[name] for name in ("low", "high", "worst", "best"))
    )  # fmt: skip
    scale = scales_of(Catalogue([column], one["group_size"]))[one["name"]]
    inks = [scale.ink(value).colour for value in one["values"]]
    assert inks == [ink or "ink-1" for ink in one["inks"]]


def tinted(scale: TokenScale, values: list[float]) -> list[float]:
    """The ends of a scale, and the strengths of some values on it."""
    return [scale.low, scale.high, *scale.strengths(np.array(values)).tolist()]


@pytest.mark.parametrize("one", [*SHOWN["series"], {"name": "update", **SHOWN["update"]}], ids=lambda one: one["name"])
def test_the_tints_of_tokens(one: dict[str, Any]) -> None:
    values = np.array(one["values"])
    scale = scale_of(values, one["scale"], one["name"]) if "scale" in one else update_scale(values)
    wanted = [float(one["low"]), float(one["high"]), *(np.nan if n is None else n for n in one["strengths"])]
    assert tinted(scale, one["values"]) == pytest.approx(wanted, abs=2e-6, nan_ok=True)


def test_words_for_tokens() -> None:
    assert [list(FIRST), list(FLAGS), list(EFFECTS)] == [SHOWN[name] for name in ("first", "flags", "effects")]
