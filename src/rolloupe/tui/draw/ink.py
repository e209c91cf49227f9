"""Lines as data: pieces of text with ink. An ink names colours; a palette decides what they look like."""

from collections.abc import Iterable
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
