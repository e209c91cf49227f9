"""Breaks text into lines of a width: greedily at blanks, by cells, and quickly where every character takes one."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from rich.cells import cell_len

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
