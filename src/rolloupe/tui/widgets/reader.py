"""The pane in which a person reads: blocks of text in lines, with the places that a search found."""

from collections.abc import Callable, Sequence

from textual import events

from rolloupe.tui.draw.ink import PLAIN, Line
from rolloupe.tui.views.blocks import TextBlock
from rolloupe.tui.views.layout import Layout, TextPlace
from rolloupe.tui.widgets.lines import LinePane


class TextPane(LinePane):
    """A text of any length. Calls `resized` when its window has another size."""

    def __init__(self, id: str, resized: Callable[[], None]) -> None:
        super().__init__(id=id)
        self._resized = resized
        self.blocks: Sequence[TextBlock] = ()
        self._is_table = False
        self._layout: Layout | None = None
        self._found: Sequence[TextPlace] = ()
        self._current = -1

    @property
    def layout_(self) -> Layout:
        """The blocks in lines of the present width."""
        if self._layout is None or self._layout.width != self.room - 1:
            self._layout = Layout(self.blocks, self.room - 1, is_table=self._is_table)
        return self._layout

    def read(self, blocks: Sequence[TextBlock], *, is_table: bool = False, keeps_place: bool = False) -> None:
        """Show other blocks, from their first line on."""
        self.blocks, self._is_table, self._layout = blocks, is_table, None
        self.changed()
        if not keeps_place:
            self.scroll_to(0, 0, animate=False)

    def mark(self, found: Sequence[TextPlace], current: int = -1, *, keeps_place: bool = False) -> None:
        """Show the places that a search found, and go to one of them, unless the window keeps its place."""
        self._found, self._current = found, current
        if 0 <= current < len(found) and not keeps_place:
            self.show_line(self.layout_.row_of(found[current]))
        self.refresh()

    def count(self) -> int:
        """Return the number of lines."""
        return len(self.layout_)

    def line_at(self, y: int) -> Line:
        """Return a line, after one blank cell."""
        return [(" ", PLAIN), *self.layout_.line(y, self._found, self._current)]

    def on_resize(self, _: events.Resize) -> None:
        """Break the lines again."""
        self.changed()
        self._resized()
