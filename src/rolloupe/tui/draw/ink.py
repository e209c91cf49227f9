"""Lines as data: pieces of text with ink, cut or broken to a width. An ink names colours; a palette has them.

Palettes have the colours of the page in light and dark, and the sixteen of an old terminal. The interface is neutral; a
hue shows a value, a role or a state.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style

from rolloupe.text.visible import visible_line


class Ink(NamedTuple):
    """How a piece of text looks. A colour is a name of a palette, or a scale and a place on it: `tint@0.25`."""

    colour: str = "ink-1"
    ground: str = ""
    """The colour behind the text; empty for that of the widget."""
    bold: bool = False


Piece: TypeAlias = tuple[str, Ink]
Line: TypeAlias = list[Piece]

PLAIN = Ink()
STRONG = Ink(bold=True)
QUIET = Ink("ink-2")
DIM = Ink("ink-3")
GHOST = Ink("ink-ghost")
ACCENT = Ink("accent", bold=True)
WARN = Ink("warn")
ALARM = Ink("alarm")
MATCH = Ink("ink-1", "match")
CURRENT_MATCH = Ink("surface-page", "accent", bold=True)


def width_of(line: Line) -> int:
    """Return how many cells a line takes."""
    return sum(cell_len(text) for text, _ in line)


def safe(text: str, ink: Ink = PLAIN) -> Piece:
    """Return a text from a run as a piece on one line, with every hostile character visible."""
    return visible_line(text), ink


def joined(parts: Iterable[Line], gap: str = "  ") -> Line:
    """Join lines into one, with a gap between lines that are not empty."""
    line: Line = []
    for part in parts:
        if part:
            line += [(gap, PLAIN), *part] if line else part
    return line


def cut(line: Line, width: int) -> Line:
    """Return the start of a line, with an ellipsis if it is longer than some cells."""
    if width_of(line) <= width:
        return line
    if width <= 0:
        return []
    kept: Line = []
    room = width - 1
    for text, ink in line:
        part = text[:room]
        while cell_len(part) > room:
            part = part[:-1]
        kept.append((part, ink))
        room -= cell_len(part)
        if part != text:
            break
    return [*kept, ("…", DIM)]


def padded(line: Line, width: int) -> Line:
    """Return a line of exactly this many cells."""
    line = cut(line, width)
    return [*line, (" " * (width - width_of(line)), PLAIN)]


def rule(width: int) -> Line:
    """Return a line across some cells."""
    return [("─" * width, Ink("line-2"))]


def ends(left: Line, right: Line, width: int) -> Line:
    """Return one line with a part at either end; the left one is cut if both do not fit."""
    room = width - width_of(right)
    return [*padded(left, room), *right] if room > 0 else cut(left, width)


_NARROW = re.compile(
    r"[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u0556\u2010-\u2027\u2030-\u205e\u2190-\u21ff"
    r"\u2200-\u22ff\u2400-\u2426\u2500-\u259f]*"
)
"""Characters that take one cell each."""

MOST = 8
"""The most characters for each cell of a line: marks without a width would otherwise make a line endless."""


def wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each line of a text begins and ends. Blanks at the end of a full line belong to it."""
    width = max(1, width)
    start = 0
    for paragraph in text.split("\n"):
        if len(paragraph) <= width and paragraph.isascii():
            yield start, start + len(paragraph)
        else:
            yield from _paragraph(paragraph, start, width)
        start += len(paragraph) + 1


def folded(text: str, width: int) -> list[str]:
    """Return a text from a run as lines of at most some cells; its own line breaks do not count."""
    line = visible_line(text)
    return [line[start:stop] for start, stop in wrapped(line, width)]


def _paragraph(text: str, offset: int, width: int) -> Iterator[tuple[int, int]]:
    is_narrow = _NARROW.fullmatch(text) is not None
    at = 0
    while True:
        stop = min(len(text), at + width) if is_narrow else _fitting(text, at, width)
        if stop < len(text):  # at the last blank of a full line, if it has one
            blank = stop if text[stop] == " " else text.rfind(" ", at, stop)
            stop = stop if blank < at else blank + 1
        yield offset + at, offset + stop
        at = stop
        if at >= len(text):
            return


def _fitting(text: str, start: int, width: int) -> int:
    """Return where a line ends, given that a character takes no cell, one cell or two. At least one character fits."""
    stop, most = start + width, min(len(text), start + MOST * width)
    while stop < most and cell_len(text[start:stop]) <= width:
        stop += width
    places = range(start + 1, min(stop, most) + 1)
    return max(start + 1, start + bisect_right(places, width, key=lambda end: cell_len(text[start:end])))


COLOURS: dict[str, tuple[str, str, str]] = {
    "surface-pane": ("#f7f6f3", "#131517", "default"),
    "surface-page": ("#fefdfd", "#181a1d", "default"),
    "surface-float": ("#ffffff", "#222528", "default"),
    "select": ("#dde4f3", "#2b3447", "blue"),
    "ink-1": ("#1c1e22", "#e7e6e3", "default"),
    "ink-2": ("#494c50", "#b4b6b9", "default"),
    "ink-3": ("#64666b", "#94979b", "default"),
    "ink-ghost": ("#a2a5a8", "#505357", "bright_black"),
    "line-1": ("#e1dfdd", "#282a2e", "bright_black"),
    "line-2": ("#cdccc8", "#3c3e43", "bright_black"),
    "accent": ("#325dc1", "#8fb2f9", "bright_blue"),
    "match": ("#f3e189", "#61510c", "yellow"),
    "live": ("#1a9951", "#5bcc80", "green"),
    "warn": ("#8a5600", "#eaba67", "yellow"),
    "alarm": ("#b72d29", "#f5837c", "bright_red"),
    "think": ("#64547f", "#b9aad7", "magenta"),
    "tool": ("#216970", "#7bc0c8", "cyan"),
    "golden": ("#765406", "#e3bf72", "yellow"),
    "role-system": ("#606369", "#989ba2", "default"),
    "role-user": ("#345f82", "#8db9d8", "bright_blue"),
    "role-assistant": ("#1c1e22", "#e7e6e3", "default"),
    "role-tool": ("#526138", "#abba88", "cyan"),
    "seq-full": ("#1567a6", "#68b3ea", "bright_blue"),
    "heat": ("#e66c39", "#a84b1c", "yellow"),
    "div-neg": ("#b97fdc", "#834ba8", "magenta"),
    "div-pos": ("#49c0bc", "#007374", "cyan"),
    "run-2": ("#d56a10", "#f2a359", "yellow"),
    "run-3": ("#17895b", "#5fcd9c", "green"),
    "run-4": ("#c13480", "#ed7db2", "magenta"),
    "run-5": ("#0893a8", "#74d8e3", "cyan"),
    "run-6": ("#6d41a9", "#b087e9", "red"),
    "reward-ink-0": ("#b32926", "#f5837c", "bright_red"),
    "reward-ink-1": ("#9c4a19", "#f0986e", "bright_red"),
    "reward-ink-2": ("#7c5a03", "#e4b65c", "yellow"),
    "reward-ink-3": ("#50671b", "#aac469", "green"),
    "reward-ink-4": ("#1f6f38", "#60c781", "green"),
    "advantage-ink-neg": ("#793e99", "#ce9eec", "magenta"),
    "advantage-ink-pos": ("#006c6d", "#66cbc7", "cyan"),
}
"""The colours by their names on the page: in light, in dark, and of the sixteen."""

FAINTEST = 0.12
"""The strength of the faintest tint: even the smallest value is visible."""
LIGHT, DARK, SIXTEEN = 0, 1, 2


class Palette(NamedTuple):
    """One of the three sets of colours."""

    name: str
    column: int

    def colour(self, name: str) -> str:
        """Return a colour by its name, or by a scale of tints and a place on it, from 0 to 1 or from -1 to 1."""
        scale, _, place = name.partition("@")
        if not place:
            return COLOURS[name][self.column]
        hue = "heat" if scale == "tint" else "div-neg" if float(place) < 0 else "div-pos"
        page, full = self.colour("surface-page"), self.colour(hue)
        share = min(1.0, FAINTEST + (1 - FAINTEST) * abs(float(place)))
        if self.column == SIXTEEN:  # the nearer of the two
            return full if share > 0.5 else page
        pairs = zip(Color.parse(page).get_truecolor(), Color.parse(full).get_truecolor(), strict=True)
        return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)

    def style(self, ink: Ink, ground: str) -> Style:
        return _style(self, ink, ink.ground or ground)


LIGHT_PALETTE, DARK_PALETTE = Palette("light", LIGHT), Palette("dark", DARK)
SIXTEEN_PALETTE = Palette("sixteen", SIXTEEN)
PALETTES = {palette.name: palette for palette in (DARK_PALETTE, LIGHT_PALETTE, SIXTEEN_PALETTE)}

_ON_GROUNDS = {"blue": "white", "magenta": "white"}
"""The ink on each coloured ground of the sixteen; black on every other ground."""

_FAINT = ("ink-3", "role-system")
"""Inks that sixteen colours show as the usual ink, but dim: some terminals draw bright black as plain black.
"""


@lru_cache(4096)
def _style(palette: Palette, ink: Ink, ground: str) -> Style:
    colour = ink.colour
    behind = palette.colour(ground)
    if palette.column == SIXTEEN and behind != "default":
        return Style(color=_ON_GROUNDS.get(behind, "black"), bgcolor=behind, bold=ink.bold)
    return Style(
        color=palette.colour(colour),
        bgcolor=behind,
        bold=ink.bold or None,
        dim=(palette.column == SIXTEEN and colour in _FAINT) or None,
    )
