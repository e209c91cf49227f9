"""Lines that do not scroll: the header, the figures of a sample, the keys at the foot."""

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from rolloupe.tui.draw.ink import Line
from rolloupe.tui.widgets.strips import strip_of


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
            """The bar."""
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
        """Draw a line."""
        line = self.lines[y] if y < len(self.lines) else []
        return strip_of(line, self.size.width, self._ground)
