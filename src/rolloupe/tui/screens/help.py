"""All keys, by purpose."""

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Line
from rolloupe.tui.keys import KEYS, TOKEN_KEYS
from rolloupe.tui.widgets.rows import RowList


def help_lines() -> list[Line]:
    """Return the help: the sections, and in each its keys; those of the token view follow."""
    lines: list[Line] = [[(" Keys", STRONG), ("   Esc closes", DIM)]]
    section = ""
    for one in (*KEYS, *TOKEN_KEYS):
        if one.section != section:
            section = one.section
            lines += [[], [(f" {section}", DIM)]]
        lines.append([(f"   {one.label:14}", ACCENT), (one.meaning, PLAIN)])
    return lines


class HelpScreen(ModalScreen[None]):
    """The keys; any of those that close, or `?`, leaves."""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield RowList("help")

    def on_mount(self) -> None:
        """Show the lines."""
        lines = help_lines()
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
