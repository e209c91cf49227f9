"""All keys, by purpose."""

from collections.abc import Iterable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from rolloupe.tui.draw.ink import ACCENT, DIM, PLAIN, STRONG, Line
from rolloupe.tui.draw.wrap import wrapped
from rolloupe.tui.keys import KeyHelp, actions_of
from rolloupe.tui.screen_keys import HELP_KEYS
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.lines import LinePane, PaneKeys
from rolloupe.tui.widgets.over import OverScreen

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


HINT = "  ".join(one.foot for one in HELP_KEYS if one.foot)


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


class HelpScreen(PaneKeys, ModalScreen[None], OverScreen[None]):
    """The keys; any of those that close, or `?`, leaves."""

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="help"):
            yield LineBar("help-title", lambda _: [[(" Keys  ", STRONG), (HINT, DIM)]], "surface-float")
            yield HelpPane(self._keys)

    def on_mount(self) -> None:
        """Let the keys scroll the lines."""
        self.pane.focus()

    @property
    def pane(self) -> HelpPane:
        """The lines."""
        return self.query_one(HelpPane)

    async def on_key(self, event: events.Key) -> None:
        """Scroll, or leave."""
        action = None if self.misses(event) else actions_of(HELP_KEYS).get(event.key)
        if action is not None:
            event.stop()
            await self.run_action(action)

    def action_back(self) -> None:
        """Leave."""
        self.dismiss(None)
