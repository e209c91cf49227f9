"""The line at the foot into which a person types: what to find, to search, to filter by."""

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from rolloupe.query.filter.parser import MAX_CHARS
from rolloupe.tui.draw.ink import ACCENT
from rolloupe.tui.widgets.bar import LineBar
from rolloupe.tui.widgets.suggest import FilterNames
from rolloupe.tui.widgets.typing_line import TypingLine

FULL = f"The line holds {MAX_CHARS:,} characters, no more."


class Asker(Horizontal):
    """Hidden until something is asked. Enter answers and Esc leaves; the line may stay open for more answers."""

    def __init__(self, changed: Callable[[], None], tell: Callable[[str], None]) -> None:
        super().__init__(id="asker")
        self._changed = changed
        """Called when it opens or closes: the foot shows its hint."""
        self._tell = tell
        self._is_full = False
        self.hint = ""
        """What the person may type."""
        self._word = ""
        self._then: Callable[[str], None] = lambda _: None
        self._stays = False

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield LineBar("asker-word", lambda _: [[(f" {self._word} ", ACCENT)]])
        yield TypingLine(id="asker-input", compact=True)

    @property
    def line(self) -> TypingLine:
        """The line to type into."""
        return self.query_one(TypingLine)

    @property
    def is_open(self) -> bool:
        """True while something is asked."""
        return self.has_class("open")

    def ask(
        self,
        word: str,
        hint: str,
        then: Callable[[str], None],
        value: str = "",
        *,
        stays: bool = False,
        words: Sequence[str] = (),
    ) -> None:
        """Ask for a text. With `stays`, the line stays open after an answer. Some words are completed."""
        self._word, self.hint, self._then, self._stays = word, hint, then, stays
        self.add_class("open")
        self._changed()
        bar = self.query_one(LineBar)
        bar.styles.width = len(word) + 2
        bar.changed()
        self.line.suggester = FilterNames(words) if words else None
        self.line.value = value
        self.line.cursor_position = len(value)
        self.screen.set_focus(self.line)  # at once: `focus` waits, and who types quickly would press `q` of the screen

    def close(self) -> None:
        """Hide the line."""
        self.remove_class("open")
        self._changed()
        self.screen.focus_next() if self.screen.focused is self.line else None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        event.stop()
        then = self._then
        if not self._stays:
            self.close()
        then(event.value)

    def on_typing_line_full(self, event: TypingLine.Full) -> None:
        """Say that the line takes no more, until it changes."""
        event.stop()
        if not self._is_full:
            self._is_full = True
            self._tell(FULL)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Take back that the line is full."""
        event.stop()
        if self._is_full:
            self._is_full = False
            self._tell("")

    def on_key(self, event: events.Key) -> None:
        """Complete a word on Tab."""
        if event.key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            if event.key == "tab":
                self.line.action_cursor_right()
