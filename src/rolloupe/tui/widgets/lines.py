"""Lines that scroll in a pane, and lines that do not, in a bar.

`strip_of` is the one door to the terminal: whatever is still hostile in a line becomes visible there.
"""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

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


class LinePane(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines under each other. Subclasses say how many there are, and what is on each."""

    ground = "surface-page"
    """The name of the colour behind the lines."""

    def count(self) -> int:
        """Return the number of lines."""
        return 0

    def line_at(self, y: int) -> Line:
        """Return a line."""
        del y
        return []

    def ground_at(self, y: int) -> str:
        """Return the colour behind a line."""
        del y
        return self.ground

    def changed(self) -> None:
        """Draw everything again."""
        self.virtual_size = Size(0, self.count())
        self.refresh()

    @property
    def room(self) -> int:
        """The cells of a line: one is the scroll bar's."""
        return max(1, self.size.width - (0 if self.show_vertical_scrollbar else self.styles.scrollbar_size_vertical))

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        at, width = y + top, self.size.width
        if at >= self.count():
            return strip_of([], width, self.ground)
        return strip_of(self.line_at(at), width, self.ground_at(at), x)

    @property
    def share(self) -> int | None:
        """How far down the window is, in percent; None if everything fits."""
        return round(100 * self.scroll_offset.y / self.max_scroll_y) if self.max_scroll_y > 0 else None

    # As in pagers

    def line(self, by: int) -> None:
        """Scroll by lines."""
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def page(self, by: int) -> None:
        """Scroll by pages: one line stays in view."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_to(y=self.scroll_offset.y + by * step, animate=False)

    def go_to_end(self, *, is_last: bool) -> None:
        """Scroll to the first or the last line."""
        self.scroll_to(y=self.max_scroll_y if is_last else 0, animate=False)

    def show_line(self, y: int) -> None:
        """Scroll as little as it takes to show a line, with some lines around it."""
        height = self.scrollable_content_region.height
        top, margin = self.scroll_offset.y, min(3, height // 4)
        if y < top + margin or y >= top + height - margin:
            self.scroll_to(y=max(0, y - height // 3), animate=False)


class PaneKeys:
    """What the keys that move do on every screen: they move in its pane."""

    @property
    def pane(self) -> LinePane:
        """The pane of the screen."""
        raise NotImplementedError

    def action_line(self, by: int) -> None:
        """Move by a line, or by a row of a list."""
        self.pane.line(by)

    def action_page(self, by: int) -> None:
        """Move by a page."""
        self.pane.page(by)

    def action_end(self, is_last: bool) -> None:
        """Go to the top or the bottom."""
        self.pane.go_to_end(is_last=is_last)


class LineBar(Widget):
    """Some lines, made for the width of the bar."""

    class Clicked(Message):
        """A person clicked somewhere in the bar."""

        def __init__(self, bar: "LineBar", x: int, y: int) -> None:
            super().__init__()
            self.bar = bar
            self.x, self.y = x, y

        @property
        def control(self) -> "LineBar":
            return self.bar

    def __init__(self, id: str, lines_of: Callable[[int], Sequence[Line]], ground: str = "surface-pane") -> None:
        super().__init__(id=id)
        self._lines_of = lines_of
        self._ground = ground
        self.lines: Sequence[Line] = ()

    def changed(self) -> None:
        """Draw the lines again. The bar is as high as they are, at least one line."""
        if not self.size.width:  # not laid out yet: it has its lines with its width
            return
        self.lines = self._lines_of(self.size.width)
        height = max(1, len(self.lines))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh()

    def on_resize(self, _: events.Resize) -> None:
        """Make the lines for the new width."""
        self.changed()

    def on_click(self, event: events.Click) -> None:
        """Tell where."""
        self.post_message(self.Clicked(self, event.x, event.y))

    def render_line(self, y: int) -> Strip:
        line = self.lines[y] if y < len(self.lines) else []
        return strip_of(line, self.size.width, self._ground)
