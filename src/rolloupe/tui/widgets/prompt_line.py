"""The line at the foot into which a person types: what to find, to search, to filter by."""

import re
from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input
from textual.widgets.input import Selection

from rolloupe.query.filter.parser import MAX_CHARS
from rolloupe.text.visible import visible_line
from rolloupe.tui.draw.ink import ACCENT
from rolloupe.tui.widgets.lines import LineBar

_NAME = re.compile(r"[\w.:/-]+")


class FilterNames(Suggester):
    """Completes the last word to the first name that begins with it; Tab or the right arrow takes it."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        fit = (name for name in names if _NAME.fullmatch(name) and visible_line(name) == name)  # as Textual draws it
        self._names = sorted(fit, key=len)

    async def get_suggestion(self, value: str) -> str | None:
        from_end = _NAME.match(value[::-1])  # a search would begin at every letter of the line
        start = len(value) - from_end.end() if from_end else len(value)
        begun = value[start:]
        if not begun or value.count('"', 0, start) % 2:
            return None
        longer = (value[:start] + name for name in self._names if name.startswith(begun) and name != begun)
        return next(longer, None)


class TypingLine(Input):
    """One line of text. Its colours are in `app.tcss`.

    It holds no more than a filter may have: each key costs the work, and the memory, of the whole line.
    """

    class Full(Message):
        """Sent if the typed or pasted text does not fit."""

    def on_mount(self) -> None:
        self.cursor_blink = False
        self.max_length = MAX_CHARS
        self.select_on_focus = False  # a late focus would let the next letter replace the first ones

    def restricted(self) -> None:
        self.post_message(self.Full())


FULL = f"The line holds {MAX_CHARS:,} characters, no more."


class PromptLine(Horizontal):
    """Hidden until something is asked. Enter answers and Esc leaves; the line may stay open for more answers."""

    def __init__(self, changed: Callable[[], None], tell: Callable[[str], None]) -> None:
        super().__init__(id="prompt")
        self._changed = changed
        """Called when it opens or closes: the foot shows its hint."""
        self._tell = tell
        self._is_full = False
        self.hint = ""
        """The hint that the foot shows while the line is open."""
        self._word = ""
        self._then: Callable[[str], None] = lambda _: None
        self._stays = False

    def compose(self) -> ComposeResult:
        yield LineBar("prompt-word", lambda _: [[(f" {self._word} ", ACCENT)]])
        yield TypingLine(id="prompt-input", compact=True)

    @property
    def line(self) -> TypingLine:
        return self.query_one(TypingLine)

    @property
    def is_open(self) -> bool:
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
        self.line.selection = Selection(0, len(value))
        self.screen.set_focus(self.line)  # at once: `focus` waits, and who types quickly would press `q` of the screen

    def close(self) -> None:
        self.remove_class("open")
        self._changed()
        self.screen.focus_next() if self.screen.focused is self.line else None

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        then = self._then
        if not self._stays:
            self.close()
        then(event.value)

    def on_typing_line_full(self, event: TypingLine.Full) -> None:
        event.stop()
        if not self._is_full:
            self._is_full = True
            self._tell(FULL)

    def on_input_changed(self, event: Input.Changed) -> None:
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
