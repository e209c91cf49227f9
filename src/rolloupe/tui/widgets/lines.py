"""A pane of lines that scrolls. Only the lines in view are made."""

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rolloupe.tui.draw.ink import Line
from rolloupe.tui.widgets.strips import strip_of


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
        """Draw one line of the window."""
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
