"""All keys, by purpose."""

from collections.abc import Iterable

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Line
from rolloupe.tui.keys import KeyHelp
from rolloupe.tui.widgets.rows import RowList


def help_lines(keys: Iterable[KeyHelp]) -> list[Line]:
    """Return the help: the sections, and in each its keys."""
    lines: list[Line] = [[(" Keys", STRONG), ("   Esc closes", DIM)]]
    section = ""
    for one in keys:
        if one.section != section:
            section = one.section
            lines += [[], [(f" {section}", DIM)]]
        lines.append([(f"   {one.label:14}", ACCENT), (one.meaning, PLAIN)])
    return lines


class HelpScreen(ModalScreen[None]):
    """The keys; any of those that close, or `?`, leaves."""

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield RowList("help")

    def on_mount(self) -> None:
        """Show the lines."""
        lines = help_lines(self._keys)
        rows = self.query_one(RowList)
        rows.ground = "surface-float"
        rows.fill(len(lines), lambda number, _: [lines[number]])
        rows.focus()

    def on_key(self, event: events.Key) -> None:
        """Leave."""
        if event.key in ("escape", "q", "question_mark", "enter"):
            event.stop()
            if self.is_current:  # else an earlier key has left already
                self.dismiss(None)
