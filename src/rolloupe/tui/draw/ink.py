"""Lines as data: pieces of text with ink, cut or broken to a width. An ink names colours; a palette has them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from rolloupe.text.visible import visible_line


class Ink(NamedTuple):
    """How a piece of text looks. A colour is a name of a palette, or a scale and a place on it: `tint@0.25`."""

    colour: str = "ink-1"
    ground: str = ""
    """The colour behind the text; empty for that of the widget."""
    bold: bool = False
    italic: bool = False
    underline: bool = False


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
    """Return a text from a run as a piece: every hostile character is visible in it, and it stays on its line."""
    return visible_line(text), ink


def joined(parts: Iterable[Line], gap: str = "  ") -> Line:
    """Return lines as one, with a gap between those that hold anything."""
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
        part = cut_text(text, room)
        kept.append((part, ink))
        room -= cell_len(part)
        if part != text:
            break
    return [*kept, ("…", DIM)]


def cut_text(text: str, width: int) -> str:
    """Return the start of a text that fits into some cells."""
    part = text[:width]
    while cell_len(part) > width:
        part = part[:-1]
    return part


def padded(line: Line, width: int) -> Line:
    """Return a line of exactly this many cells."""
    line = cut(line, width)
    return [*line, (" " * (width - width_of(line)), PLAIN)]


def ends(left: Line, right: Line, width: int) -> Line:
    """Return one line with a part at either end; the left one is cut if both do not fit."""
    room = width - width_of(right)
    return [*padded(left, room), *right] if room > 0 else cut(left, width)


_NARROW = re.compile(
    r"[\x20-\x7e\xa1-\xac\xae-\u02ff\u0391-\u0482\u048a-\u0556\u2010-\u2027\u2030-\u205e\u2190-\u21ff"
    r"\u2200-\u22ff\u2400-\u2426\u2500-\u259f]*"
)
"""Characters that take one cell each."""

TAB = 4
MOST = 8
"""Characters for each cell of a line, at most: marks without a width would else make it endless."""


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


def _paragraph(text: str, offset: int, width: int) -> Iterator[tuple[int, int]]:
    is_narrow = _NARROW.fullmatch(text) is not None
    at = 0
    while True:
        stop = min(len(text), at + width) if is_narrow else _fitting(text, at, width)
        if stop < len(text):
            stop = _at_blank(text, at, stop)
        yield offset + at, offset + stop
        at = stop
        if at >= len(text):
            return


def _at_blank(text: str, start: int, stop: int) -> int:
    """Return the place after the last blank of a full line; the end of the line if it has none."""
    if text[stop] == " ":
        return stop + 1
    blank = text.rfind(" ", start, stop)
    return stop if blank < start else blank + 1


def _fitting(text: str, start: int, width: int) -> int:
    """Return how far a line reaches, where characters take no cell, one or two. At least one character fits."""
    stop, most = start + width, min(len(text), start + MOST * width)
    while stop < most and cell_len(text[start:stop]) <= width:
        stop += width
    places = range(start + 1, min(stop, most) + 1)
    return max(start + 1, start + bisect_right(places, width, key=lambda end: cell_len(text[start:end])))


def spread(text: str) -> str:
    """Return a text whose tabs are blanks."""
    return text.replace("\t", " " * TAB)
