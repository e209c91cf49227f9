"""The rows of the left pane: samples, groups, pickers and fields."""

from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

from rolloupe.columns import KNOWN
from rolloupe.query import Group, SampleItem
from rolloupe.tui.draw.braille import BLOCKS, MISSING
from rolloupe.tui.draw.figures import narrow, score
from rolloupe.tui.draw.ink import ACCENT, DIM, GHOST, PLAIN, STRONG, WARN, Line, Piece, ends, padded, safe
from rolloupe.tui.draw.scales import Scale, words_of
from rolloupe.tui.run.masks import Mask
from rolloupe.tui.run.place import ListPlace

WIDTH = 9
"""Cells of a figure in a list."""


def sample_row(
    item: SampleItem, columns: Sequence[str], scales: "dict[str, Scale]", mask: Mask, width: int
) -> list[Line]:
    """Return a sample of a list: its figures, and the start of its response."""
    line: Line = [_mark(is_discarded=bool(item.discarded))]
    for name in columns:
        value = value_of(item, name)
        scale = scales.get(name, Scale())
        shown = narrow(words_of(name, value, scale), value, WIDTH - 1)
        line += [(f"{shown:>7}", scale.ink(value)), (" ", PLAIN)]
    return [padded([*line, safe(preview(mask(item.response)), DIM)], width)]


def _mark(*, is_discarded: bool) -> Piece:
    """Return the sign before a row of what was discarded."""
    return ("×", WARN) if is_discarded else (" ", PLAIN)


STRIP = 16
"""Cells of a strip, at most."""


def group_row(group: Group, scale: Scale, mask: Mask, strip: int, width: int) -> list[Line]:
    """Return a group of a list: its mean reward, the reward of each member, and the start of the prompt."""
    rewards = [value if isinstance(value, int | float) else None for value in group.cells[0]]
    mark = _mark(is_discarded=bool(group.discarded))
    mean: Line = [
        mark,
        (f"{narrow(score(group.reward.mean), group.reward.mean, WIDTH - 1):>7}", scale.ink(group.reward.mean)),
        (" ", PLAIN),
    ]
    prompt = " ".join(mask(group.prompt[:400]).split())
    cells = padded([_cell(value, scale) for value in _spread(rewards, STRIP)], strip)
    return [padded([*mean, *cells, (" ", PLAIN), safe(prompt, DIM)], width)]


def _spread(values: list[float | None], most: int) -> list[float | None]:
    """Return all values in their order, or of too many some from the lowest to the highest."""
    if len(values) <= most:
        return values
    ordered = sorted(values, key=lambda value: (value is None or isnan(value), value or 0.0))
    return [ordered[round(n * (len(ordered) - 1) / (most - 1))] for n in range(most)]


def _cell(value: float | None, scale: Scale) -> Piece:
    """Return a cell of a strip: the higher the better, and coloured."""
    place = scale.place(value)
    if value is None or isnan(value):
        return MISSING, GHOST
    return BLOCKS[round(7 * place) if place is not None and scale.kind == "score" else 3], scale.ink(value)


def preview(response: str) -> str:
    """Return the start of a response on one line, without the tag that most begin with."""
    return " ".join(response[:200].split()).removeprefix("<think>").lstrip()


def value_of(item: SampleItem, name: str) -> float | None:
    """Return a number of a sample in a list."""
    value = (
        getattr(item, name) if name in KNOWN and hasattr(item, name) else item.metrics.get(name.removeprefix("metric."))
    )
    return value if isinstance(value, int | float) else None


class Picker(NamedTuple):
    """A choice in the left pane: its key, its name, and what is chosen."""

    key: str
    name: str
    value: str


def picker_row(picker: Picker, width: int) -> list[Line]:
    """Return a picker."""
    return [
        ends([(f" {picker.key} ", DIM), (f"{picker.name:7} ", DIM), safe(picker.value, STRONG)], [("▾ ", DIM)], width)
    ]


def sort_words(place: ListPlace) -> str:
    """Return the order of a list as words."""
    if place.sort == "index":
        return "as recorded" if not place.descending else "as recorded ↓"
    return f"{place.sort} {'↓' if place.descending else '↑'}"


def field_row(name: str, is_shown: bool, width: int) -> list[Line]:
    """Return a field with its mark."""
    mark = ("[x] ", ACCENT) if is_shown else ("[ ] ", DIM)
    return [padded([(" ", PLAIN), mark, safe(name, PLAIN if is_shown else DIM)], width)]
