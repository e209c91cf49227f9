"""The one door to the terminal: lines become strips here, and whatever is still hostile in them becomes visible."""

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip

from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.ink import PLAIN, Line
from rolloupe.tui.draw.palettes import DARK_PALETTE, Palette


class Look:
    """The palette of the app, which all widgets share and the person may change."""

    palette: Palette = DARK_PALETTE


LOOK = Look()


def strip_of(line: Line, width: int, ground: str, scroll_x: int = 0) -> Strip:
    """Return a line as a strip of exactly this many cells, on a ground."""
    palette = LOOK.palette
    segments = [Segment(visible_line(text), palette.style(ink, ground)) for text, ink in line if text]
    length = sum(cell_len(segment.text) for segment in segments)
    rest = width + scroll_x - length
    if rest > 0:
        segments.append(Segment(" " * rest, palette.style(PLAIN, ground)))
        return Strip(segments, width + scroll_x).crop(scroll_x, scroll_x + width)
    return Strip(segments, length).crop(scroll_x, scroll_x + width)
