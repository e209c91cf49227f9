"""All keys, by purpose."""

from collections.abc import Iterable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Line
from rolloupe.tui.draw.wrap import wrapped
from rolloupe.tui.keys import KeyHelp
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.lines import LinePane

HINT = "   j/k and the arrows scroll, Esc closes"
PAGES = {"j": 1, "pagedown": 1, "space": 1, "k": -1, "pageup": -1}


LABEL = 17
"""Cells of the keys before what they do."""


def help_lines(keys: Iterable[KeyHelp], width: int) -> list[Line]:
    """Return the help: the sections, and in each its keys."""
    lines: list[Line] = []
    section = ""
    for one in keys:
        if one.section != section:
            section = one.section
            lines += [[], [(f" {section}", DIM)]]
        for start, stop in wrapped(one.meaning, width - LABEL):
            label = f"   {one.label}" if start == 0 else ""
            lines.append([(f"{label:{LABEL}}", ACCENT), (one.meaning[start:stop], PLAIN)])
    return lines[1:]


class HelpPane(LinePane):
    """The lines, which scroll as a text does."""

    ground = "surface-float"

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__(id="help-lines")
        self._keys = keys
        self._lines: list[Line] = []

    def count(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def line_at(self, y: int) -> Line:
        """Return a line."""
        return self._lines[y]

    def on_resize(self, _: events.Resize) -> None:
        """Break the lines."""
        self._lines = help_lines(self._keys, self.room)
        self.changed()


class HelpScreen(ModalScreen[None]):
    """The keys; any of those that close, or `?`, leaves."""

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="help"):
            yield LineBar("help-title", lambda _: [[(" Keys", STRONG), (HINT, DIM)]], "surface-float")
            yield HelpPane(self._keys)

    def on_mount(self) -> None:
        """Let the keys scroll the lines."""
        self.pane.focus()

    @property
    def pane(self) -> HelpPane:
        """The lines."""
        return self.query_one(HelpPane)

    def on_key(self, event: events.Key) -> None:
        """Scroll, or leave."""
        event.stop()
        if event.key in ("escape", "q", "question_mark", "enter"):
            if self.is_current:  # else an earlier key has left already
                self.dismiss(None)
        elif event.key in PAGES:
            self.pane.page(PAGES[event.key])
        elif event.key in ("up", "down"):
            self.pane.scroll_to(y=self.pane.scroll_offset.y + (1 if event.key == "down" else -1), animate=False)
        elif event.key in ("g", "G", "home", "end"):
            self.pane.go_to_end(is_last=event.key in ("G", "end"))
