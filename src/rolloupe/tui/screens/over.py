"""The screens over the main screen. A person leaves each once, and only while it is on top; `?` shows its keys."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen
from textual.widget import Widget

from rolloupe.tui.draw.ink import ACCENT, ALARM, DIM, PLAIN, STRONG, Line, cut, safe, wrapped
from rolloupe.tui.keys import HELP_KEYS, KeyHelp, actions_of, aim, waiting
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import Session
from rolloupe.tui.views.samples import keys_line, size_classes
from rolloupe.tui.widgets.lines import LineBar, LinePane, PaneKeys, RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

A = TypeVar("A")
T = TypeVar("T")


class OverScreen(Screen[T]):
    """A screen that covers the previous one."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave the screen. Later keys and answers have no effect, nor do those for a covered screen.

        Textual would remove the screen on top, which may be a different one, or the last, with which the app ends.
        """
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def action_back(self) -> None:
        self.dismiss(None)

    def misses(self, key: events.Key) -> bool:
        """Return whether a key is for a different screen, because this one is covered or left. The app passes it on."""
        if not self.is_active:
            aim(key, None)
        return not self.is_active


LABEL = 17
"""Cells of the keys before what they do."""


def help_lines(keys: Iterable[KeyHelp], width: int) -> list[Line]:
    """Return the help: the sections, and in each its keys."""
    lines: list[Line] = []
    section = ""
    for key in keys:
        if key.section != section:
            section = key.section
            lines += [[], [(f" {section}", DIM)]]
        for start, stop in wrapped(key.meaning, width - LABEL):
            label = f"   {key.label}" if start == 0 else ""
            lines.append([(f"{label:{LABEL}}", ACCENT), (key.meaning[start:stop], PLAIN)])
    return lines[1:]


HINT = "  ".join(key.foot for key in HELP_KEYS if key.foot)


class HelpPane(LinePane):
    """The lines, which scroll as a text does."""

    ground = "surface-float"

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__(id="help-lines")
        self._keys = keys
        self._lines: list[Line] = []

    def count(self) -> int:
        return len(self._lines)

    def line_at(self, y: int) -> Line:
        return self._lines[y]

    def on_resize(self, _: events.Resize) -> None:
        self._lines = help_lines(self._keys, self.room)
        self.changed()


class HelpScreen(PaneKeys, ModalScreen[None], OverScreen[None]):
    """The help: a list of keys. Any closing key, or `?`, leaves it."""

    def __init__(self, keys: Iterable[KeyHelp]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield LineBar("help-title", lambda _: [[(" Keys  ", STRONG), (HINT, DIM)]], "surface-float")
            yield HelpPane(self._keys)

    def on_mount(self) -> None:
        self.pane.focus()

    @property
    def pane(self) -> HelpPane:
        return self.query_one(HelpPane)

    async def on_key(self, event: events.Key) -> None:
        action = None if self.misses(event) else actions_of(HELP_KEYS).get(event.key)
        if action is not None:
            event.stop()
            await self.run_action(action)


class BackScreen(PaneKeys, OverScreen[T | None]):
    """Returns what a person chooses, None if they leave by Esc or q. Shows a title, a body and its keys."""

    KEYS: ClassVar[tuple[KeyHelp, ...]] = ()
    """What each key does, also for the foot of the screen and for `?`."""
    AT_ONCE: ClassVar[tuple[str, ...]] = ("help", "back")
    """Actions that do not wait for data."""

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__()
        self.rollouts = rollouts
        self.questions: Questions = rollouts.questions
        self._asked: set[str] = set()
        self._failures: dict[str, str] = {}
        """Why the newest questions failed, by their kind."""
        self._message = ""
        self._kept: list[events.Key] = []
        """Keys that came before the data for them, in order."""

    @property
    def session(self) -> Session:
        """The run, which may be reopened meanwhile."""
        return self.rollouts.live.session

    def compose(self) -> ComposeResult:
        yield LineBar("title", self._head)
        yield from self.body()
        yield LineBar("keys", self._foot)

    def title_lines(self, width: int) -> Sequence[Line]:
        """Return the lines of the title."""
        raise NotImplementedError

    def body(self) -> Iterator[Widget]:
        """Yield what is between the title and the keys."""
        raise NotImplementedError

    def _head(self, width: int) -> Sequence[Line]:
        failures = [[safe(f" {reason}", ALARM)] for reason in self._failures.values()]
        return failures[:1] or self.title_lines(width)

    def _foot(self, width: int) -> Sequence[Line]:
        if self._kept:
            return [cut([(f" {waiting(self._kept, 'this is read')} · Esc: back", PLAIN)], width)]
        return [cut([(" ", PLAIN), safe(self._message)], width) if self._message else keys_line(self.KEYS, width)]

    def on_mount(self) -> None:
        self.pane.focus()

    @property
    def is_reading(self) -> bool:
        """True while the data that keys act on is missing."""
        return False

    def must_wait(self, action: str) -> bool:
        """Return whether an action needs data that is still being read."""
        return self.is_reading and action not in self.AT_ONCE

    def _waits(self, key: events.Key) -> bool:
        action = actions_of(self.KEYS).get(key.key, "").partition("(")[0]
        return not self._failures and self.must_wait(action)

    def ask(self, kind: str, work: Callable[[], A], then: Callable[[A], object], *, is_slow: bool = False) -> None:
        """Ask a question. Its answer is dropped once the person has left."""
        self._asked.add(kind)
        self._failures.pop(kind, None)

        def take(answer: A) -> None:
            then(answer)
            self.press_kept()

        self.questions.ask(kind, work, take, lambda reason: self.failed(kind, reason), is_slow=is_slow)

    def press_kept(self) -> None:
        """Press the kept keys, once the data for them is there."""
        if self._kept and self.is_active and not self._waits(self._kept[0]):
            kept, self._kept = self._kept, []
            self.redraw("keys")
            for key in kept:
                self.app.call_later(self.app.on_event, events.Key(key.key, key.character))

    def failed(self, kind: str, reason: str) -> None:
        self._failures[kind] = reason
        self.redraw("title")
        self.press_kept()

    def tell(self, message: str) -> None:
        self._message = message
        self.redraw("keys")

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave, and drop the answers that are still open."""
        for kind in self._asked if self.is_active else ():
            self.questions.forget(kind)
        return super().dismiss(result)

    def redraw(self, *names: str) -> None:
        for name in names:
            self.query_one(f"#{name}", LineBar).changed()

    def on_resize(self, _: events.Resize, /) -> None:
        for name, is_so in size_classes(*self.app.size).items():
            self.set_class(is_so, name)

    async def on_key(self, event: events.Key) -> None:
        """Do the action that the table of this screen has for a key, once the data for it is there."""
        action = actions_of(self.KEYS).get(event.key)
        if self.misses(event) or (action is None and not self._kept):
            return
        event.stop()
        if action == "back":
            self._kept.clear()
        if action is not None and not self._kept and not self._waits(event):
            await self.run_action(action)
        else:
            self._kept.append(event)
            self.redraw("keys")

    # What keys of several screens do

    @property
    def pane(self) -> LinePane:
        return self.query_one(LinePane)

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    def action_choose(self) -> None:
        """Open the row under the cursor at once: the next key may be for the screen that opens."""
        if isinstance(self.pane, RowList) and self.pane.total:
            self.choose(self.pane.cursor)

    def choose(self, number: int) -> None:
        """Open a row."""

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.KEYS))
