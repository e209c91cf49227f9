"""A list to choose from, which typing narrows."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from rolloupe.tui.draw.ink import DIM, STRONG, Line, padded, safe
from rolloupe.tui.screens.over import OverScreen
from rolloupe.tui.widgets.lines import LineBar
from rolloupe.tui.widgets.prompt_line import TypingLine
from rolloupe.tui.widgets.rows import RowList


class Choice(NamedTuple):
    """Something to choose: its text, and facts at its right."""

    text: str
    facts: Line = []  # noqa: RUF012


class PickScreen(ModalScreen[int | None], OverScreen[int | None]):
    """Returns the number of the choice, None if the person leaves."""

    def __init__(self, title: str, choices: Sequence[Choice], current: int = 0) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._current = current
        self._typed = ""
        self._numbers = list(range(len(choices)))

    def compose(self) -> ComposeResult:
        """Lay it out."""
        with Vertical(id="pick"):
            yield LineBar("pick-title", self._head, "surface-float")
            yield TypingLine(placeholder="type to narrow", id="pick-input", compact=True)
            yield RowList("pick-rows", has_own_keys=True)

    def on_mount(self) -> None:
        """Show all choices."""
        self.rows.ground = "surface-float"
        self._show(self._current)

    def _head(self, width: int) -> list[Line]:
        none: Line = [("  nothing has all these words", DIM)] if not self._numbers else []
        return [padded([safe(f" {self._title}", STRONG), *none], width)]

    @property
    def rows(self) -> RowList:
        """The list."""
        return self.query_one("#pick-rows", RowList)

    def _show(self, cursor: int) -> None:
        self.rows.fill(len(self._numbers), self._row, cursor)
        self.query_one(LineBar).changed()

    def _row(self, number: int, width: int) -> list[Line]:
        choice = self._choices[self._numbers[number]]
        facts: Line = choice.facts
        return [[*padded([safe(f" {choice.text}")], max(0, width - sum(len(text) for text, _ in facts))), *facts]]

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list."""
        if event.value != self._typed:  # else it is narrowed already
            self._narrow(event.value)

    def _narrow(self, text: str) -> None:
        """Keep the choices that hold every typed word: first what is typed, then what begins with it."""
        self._typed, typed = text, text.lower().strip()
        words = typed.split()
        texts = [choice.text.lower() for choice in self._choices]
        self._numbers = [n for n, text in enumerate(texts) if all(word in text for word in words)]
        self._numbers.sort(key=lambda n: (texts[n] != typed, not texts[n].startswith(typed)))
        self._show(0 if words else self._current)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Return the choice."""
        event.stop()
        self._choose(event.number)

    def _choose(self, row: int) -> None:
        if row < len(self._numbers):
            self.dismiss(self._numbers[row])

    async def on_key(self, event: events.Key) -> None:
        """Move in the list while typing, choose, or leave."""
        line = self.query_one(TypingLine)
        if self.misses(event):
            return
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif event.is_printable and event.character and self.focused is None:  # pressed before there was a line
            event.stop()
            line.insert_text_at_cursor(event.character)
        elif event.key == "enter" and self.focused is not self.rows:
            event.stop()
            event.prevent_default()
            value = line.value
            if value != self._typed:  # who types quickly presses Enter before the list is narrower
                self._narrow(value)
            self._choose(self.rows.cursor)
        elif event.key in ("up", "down", "pageup", "pagedown") and self.focused is not self.rows:
            event.stop()
            event.prevent_default()
            await self.rows.on_key(event)


def pick(app: App[None], title: str, choices: Sequence[Choice], current: int, then: Callable[[int], None]) -> None:
    """Have a person choose, then go on with the number of the choice; one who leaves has chosen nothing."""
    app.push_screen(PickScreen(title, choices, current), lambda number: None if number is None else then(number))
