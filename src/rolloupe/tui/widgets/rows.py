"""A list of rows with a cursor: of any length, for only the rows in view are asked for."""

from collections.abc import Callable

from textual import events
from textual.message import Message

from rolloupe.tui.draw.ink import Line
from rolloupe.tui.keys import LIST_KEYS, actions_of
from rolloupe.tui.widgets.lines import LinePane, PaneKeys

_ACTIONS = actions_of(LIST_KEYS)

LinesOf = Callable[[int, int], list[Line]]
"""The lines of a row, by its number and the width."""


class RowList(PaneKeys, LinePane):
    """Rows of equal height. Tells which one a person chooses."""

    ground = "surface-pane"

    class Chosen(Message):
        """A person chose a row, by Enter or by a click."""

        def __init__(self, rows: "RowList", number: int) -> None:
            super().__init__()
            self.rows = rows
            self.number = number

        @property
        def control(self) -> "RowList":
            return self.rows

    class Moved(Chosen):
        """A person moved the cursor to a row."""

    def __init__(
        self,
        id: str | None = None,
        *,
        height: int = 1,
        keeps_cursor: bool = True,
        opens_at_once: bool = True,
        has_own_keys: bool = False,
    ) -> None:
        super().__init__(id=id)
        self.row_height = height
        self.total = 0
        self.cursor = 0
        self.keeps_cursor = keeps_cursor
        self.opens_at_once = opens_at_once
        """False for a list in which the first click only moves the cursor."""
        self.has_own_keys = has_own_keys
        """True beside other panes: the keys of lists are for the one that has the focus."""
        self.pressed: events.Key | None = None
        """The last key that means to choose, if it was not typed into another widget."""
        self._lines_of: LinesOf = lambda _number, _width: []

    @property
    def pane(self) -> LinePane:
        """The list itself: its keys move in it."""
        return self

    def fill(self, total: int, lines_of: LinesOf, cursor: int | None = None, height: int | None = None) -> None:
        """Show other rows."""
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
        """Move the cursor, without telling anybody."""
        if 0 <= number < self.total:
            self.cursor = number
            self.refresh()
            self.show_cursor()

    def show_cursor(self) -> None:
        """Scroll to the cursor."""
        top, height = self.cursor * self.row_height, max(1, self.size.height)
        if not self.scroll_offset.y <= top <= self.scroll_offset.y + height - self.row_height:
            self.scroll_to(y=max(0, top - height // 2), animate=False)

    def move(self, by: int) -> None:
        """Move the cursor as a person does."""
        self.go_to(max(0, min(self.cursor + by, self.total - 1)))
        self.post_message(self.Moved(self, self.cursor))

    def choose(self) -> None:
        """Tell that the row under the cursor is chosen."""
        if self.total:
            self.post_message(self.Chosen(self, self.cursor))

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor, unless it shows what is open."""
        self.refresh()

    def line(self, by: int) -> None:
        """Move the cursor by rows."""
        self.move(by)

    def page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.move(by * max(1, self.size.height // self.row_height - 1))

    def go_to_end(self, *, is_last: bool) -> None:
        """Move the cursor to the first or the last row."""
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
        """Choose the row under the mouse, or move the cursor to it."""
        number = (event.y + self.scroll_offset.y) // self.row_height
        if not 0 <= number < self.total:
            return
        if number != self.cursor and not self.opens_at_once:
            self.move(number - self.cursor)
        else:
            self.go_to(number)
            self.choose()
