"""Lines that scroll in a pane, lines that do not, in a bar, and lists of rows with a cursor.

`strip_of` is the one door to the terminal: it makes every remaining hostile character of a line visible.
"""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.ink import DARK_PALETTE, PLAIN, Line, Palette
from rolloupe.tui.keys import LIST_KEYS, actions_of


class Look:
    """The palette of the app: all widgets share it, and a person may change it."""

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
    """Lines below each other. Subclasses define their number and their contents."""

    ground = "surface-page"
    """The name of the colour behind the lines."""

    def count(self) -> int:
        """Return the number of lines."""
        raise NotImplementedError

    def line_at(self, y: int) -> Line:
        """Return a line."""
        raise NotImplementedError

    def ground_at(self, y: int) -> str:
        """Return the colour behind a line."""
        del y
        return self.ground

    def changed(self) -> None:
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
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def page(self, by: int) -> None:
        """Scroll by pages: one line stays in view."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_to(y=self.scroll_offset.y + by * step, animate=False)

    def go_to_end(self, *, is_last: bool) -> None:
        self.scroll_to(y=self.max_scroll_y if is_last else 0, animate=False)

    def show_line(self, y: int) -> None:
        """Scroll only as far as necessary to show a line, with some lines around it."""
        height = self.scrollable_content_region.height
        top, margin = self.scroll_offset.y, min(3, height // 4)
        if y < top + margin or y >= top + height - margin:
            self.scroll_to(y=max(0, y - height // 3), animate=False)


class PaneKeys:
    """The actions of the keys that move: on every screen, they move in its pane."""

    @property
    def pane(self) -> LinePane:
        raise NotImplementedError

    def action_line(self, by: int) -> None:
        self.pane.line(by)

    def action_page(self, by: int) -> None:
        self.pane.page(by)

    def action_end(self, is_last: bool) -> None:
        self.pane.go_to_end(is_last=is_last)


class LineBar(Widget):
    """Some lines, made for the width of the bar."""

    def __init__(
        self,
        id: str,
        lines_of: Callable[[int], Sequence[Line]],
        ground: str = "surface-pane",
        clicked: Callable[[int, int], None] = lambda _x, _y: None,
    ) -> None:
        super().__init__(id=id)
        self._lines_of = lines_of
        self._ground = ground
        self._clicked = clicked
        """Called with the cell where a person clicked."""
        self.lines: Sequence[Line] = ()

    def changed(self) -> None:
        """Draw the lines again. The bar is as high as they are, at least one line."""
        if not self.size.width:  # without a layout there is no width: the lines follow later
            return
        self.lines = self._lines_of(self.size.width)
        height = max(1, len(self.lines))
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        self.refresh()

    def on_resize(self, _: events.Resize) -> None:
        self.changed()

    def on_click(self, event: events.Click) -> None:
        self._clicked(event.x, event.y)

    def render_line(self, y: int) -> Strip:
        line = self.lines[y] if y < len(self.lines) else []
        return strip_of(line, self.size.width, self._ground)


_ACTIONS = actions_of(LIST_KEYS)

LinesOf = Callable[[int, int], list[Line]]
"""The lines of a row, by its number and the width."""


class RowList(PaneKeys, LinePane):
    """Rows of equal height. A person chooses a row by Enter or by a click."""

    ground = "surface-pane"

    def __init__(
        self,
        id: str,
        chosen: Callable[[int], None],
        moved: Callable[[int], None] = lambda _: None,
        *,
        height: int = 1,
        keeps_cursor: bool = True,
        has_own_keys: bool = False,
        opens_at_once: bool = True,
    ) -> None:
        super().__init__(id=id)
        self._chosen, self._moved = chosen, moved
        """Called with the row that a person chooses, or moves the cursor to."""
        self.row_height = height
        self.total = 0
        self.cursor = 0
        self.keeps_cursor = keeps_cursor
        self.opens_at_once = opens_at_once
        """False for a list in which the first click only moves the cursor."""
        self.has_own_keys = has_own_keys
        """True beside other panes: the list with the focus gets the keys of lists."""
        self.pressed: events.Key | None = None
        """The last key that chooses a row, unless it was typed into a different widget."""
        self._lines_of: LinesOf = lambda _number, _width: []

    @property
    def pane(self) -> LinePane:
        return self

    def fill(self, total: int, lines_of: LinesOf, cursor: int | None = None, height: int | None = None) -> None:
        self.row_height = height or self.row_height
        self.total, self._lines_of = total, lines_of
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, total - 1))
        self.changed()
        self.show_cursor()

    def count(self) -> int:
        return self.total * self.row_height

    def line_at(self, y: int) -> Line:
        lines = self._lines_of(y // self.row_height, self.size.width - 1)
        return lines[y % self.row_height] if y % self.row_height < len(lines) else []

    def ground_at(self, y: int) -> str:
        is_selected = y // self.row_height == self.cursor and (self.has_focus or self.keeps_cursor)
        return "select" if is_selected else self.ground

    def go_to(self, number: int) -> None:
        """Move the cursor, without a message."""
        if 0 <= number < self.total:
            self.cursor = number
            self.refresh()
            self.show_cursor()

    def show_cursor(self) -> None:
        top, height = self.cursor * self.row_height, max(1, self.size.height)
        if not self.scroll_offset.y <= top <= self.scroll_offset.y + height - self.row_height:
            self.scroll_to(y=max(0, top - height // 2), animate=False)

    def move(self, by: int) -> None:
        """Move the cursor, with a message, as if by the person."""
        self.go_to(max(0, min(self.cursor + by, self.total - 1)))
        self._moved(self.cursor)

    def choose(self) -> None:
        if self.total:
            self._chosen(self.cursor)

    def on_focus(self) -> None:
        self.refresh()

    on_blur = on_focus

    def line(self, by: int) -> None:
        self.move(by)

    def page(self, by: int) -> None:
        self.move(by * max(1, self.size.height // self.row_height - 1))

    def go_to_end(self, *, is_last: bool) -> None:
        self.move(self.total if is_last else -self.total)

    async def on_key(self, event: events.Key) -> None:
        """Move by the keys of lists. The app chooses: it alone knows which keys were typed into another widget."""
        action = _ACTIONS.get(event.key) if self.has_own_keys else None
        if action == "choose":
            self.pressed = event
        elif action is not None:
            event.stop()
            await self.run_action(action)

    def on_click(self, event: events.Click) -> None:
        number = (event.y + self.scroll_offset.y) // self.row_height
        if not 0 <= number < self.total:
            return
        if number != self.cursor and not self.opens_at_once:
            self.move(number - self.cursor)
        else:
            self.go_to(number)
            self.choose()
