"""The app: its colours, its run, and the screens over it."""

import asyncio
import gc
import signal
from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

from textual.app import App
from textual.binding import Binding
from textual.events import Event, Key
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Input

from rolloupe.garbage import collect_as_usual
from rolloupe.index import Library
from rolloupe.query.search.pattern import Mask
from rolloupe.tui.draw.ink import DARK_PALETTE, LIGHT_PALETTE, PALETTES, SIXTEEN_PALETTE, Palette
from rolloupe.tui.keys import EarlyKeys, after_escape, aim, is_late
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import Bookmarks, SampleAt, Session
from rolloupe.tui.screens.rollouts import Rollouts
from rolloupe.tui.widgets.lines import LOOK, RowList

MOUNT_S = 0.005
"""The interval at which the app looks for a screen that is not ready yet."""


GROUNDS = ("background", "background-hover", "background-active", "corner-color")
"""The parts of a scroll bar that are as what it stands on."""


class FirstLook(NamedTuple):
    """What the app begins with: the open runs, and the first sample of a run."""

    library: Library
    session: Session
    first: SampleAt
    mask: Mask


class Terminal(App[None]):
    """The terminal."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "Rolloupe"
    BINDINGS = [  # noqa: RUF012
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        start: "Future[FirstLook]",
        palette: Palette | None = None,
        state_dir: str | None = None,
        awaited: "Future[str] | None" = None,
    ) -> None:
        super().__init__(ansi_color=palette is SIXTEEN_PALETTE)
        self._start = start
        self._awaited: Future[str] = awaited or Future()
        self.bookmarks = Bookmarks(state_dir)
        self.failure: BaseException | None = None
        self.ended_by: signal.Signals | None = None
        self.begun = asyncio.Event()
        """Set once there is a sample on the screen, or no run to show."""
        self.questions = Questions(self._call)
        for known in PALETTES.values():
            self.register_theme(theme_of(known))
        self.set_palette(palette or DARK_PALETTE)
        self._palettes = [known for known in PALETTES.values() if self.ansi_color or known is not SIXTEEN_PALETTE]
        self.rollouts = Rollouts(self.questions, self.bookmarks)
        self._early = EarlyKeys()

    def get_default_screen(self) -> Screen[None]:
        return self.rollouts

    def _call(self, work: Callable[[], None]) -> None:
        """Do some work between two keys. An answer that comes while the app ends is dropped: it has no screen."""
        self.call_later(lambda: work() if self.is_running else None)

    def end(self, by: signal.Signals) -> None:
        """Restore the terminal, because a signal ends the process. Any thread may call this."""
        self.ended_by = by
        self.exit()

    async def on_event(self, event: Event) -> None:
        """Keep keys until the run is open, and keys for a sample until the sample is read."""
        if isinstance(event, Key) and not event.is_forwarded:
            if event.key == "ctrl+j":  # Enter, as a terminal sends it before the app takes over: typed before the start
                event = Key("enter", "\r")
            has_screen = self.rollouts.is_mounted
            letter = after_escape(event)
            if letter and not (has_screen and isinstance(self.focused, Input)):  # where keys with Alt are known
                await self.on_event(Key("escape", "\x1b"))
                event = Key(letter, letter)
            is_ready = self.rollouts.live.is_ready and not self.rollouts.lacks_sample_of(event.key)
            is_main = not has_screen or self.screen is self.rollouts
            if is_main and self._early.takes(event, is_ready=is_ready, has_screen=has_screen):
                until = "the sample is read" if self.rollouts.live.is_ready else "the run is open"
                self.rollouts.tell(self._early.message(until))
                return
            if has_screen:
                aim(event, self.screen)
        await super().on_event(event)

    async def on_rollouts_ready(self) -> None:
        kept = self._early.take()
        self.rollouts.tell("") if kept else None
        for key in kept:
            await self.on_event(key)

    async def on_key(self, event: Key) -> None:
        """Pass on a key that was pressed before its screen or its line appeared; Enter chooses the row of a list."""
        if is_late(event, self.screen):
            event.prevent_default()
            await self.on_event(Key(event.key, event.character))
            return
        prompt = self.rollouts.prompt if self.screen is self.rollouts and self.rollouts.is_mounted else None
        is_typed = prompt is not None and prompt.is_open and self.screen.focused is prompt.line
        if prompt is not None and is_typed and event.key == "enter":
            event.prevent_default()
            await prompt.line.action_submit()
        elif prompt is not None and is_typed and event.is_printable and event.character:
            event.prevent_default()
            prompt.line.insert_text_at_cursor(event.character)
        elif isinstance(self.screen.focused, RowList) and self.screen.focused.pressed is event:
            self.screen.focused.choose()

    async def on_mount(self) -> None:
        self._start.add_done_callback(lambda future: self._call(lambda: self._begin(future)))
        self._awaited.add_done_callback(lambda future: self._call(lambda: self._wait(future)))

    def _wait(self, awaited: "Future[str]") -> None:
        """Say that no run has begun yet, unless one has begun meanwhile."""
        if not self.rollouts.is_mounted:
            self.set_timer(MOUNT_S, lambda: self._wait(awaited))
        elif self.rollouts.live.opened is None:
            self.rollouts.show_note(f"{awaited.result()} It opens here by itself; q quits.")
            self._early.is_waiting = True
            if self._early.take():
                self.rollouts.tell(self._early.message(""))
            self._has_begun()

    def _begin(self, start: "Future[FirstLook]") -> None:
        if not self.rollouts.is_mounted:  # a run without samples answers before the screen exists
            self.set_timer(MOUNT_S, lambda: self._begin(start))
            return
        if (error := start.exception()) is not None:
            self._leave(error)
        else:
            self._early.is_waiting = False
            self.rollouts.begin(*start.result())
        self._has_begun()

    def _has_begun(self) -> None:
        """Collect garbage again, except the objects made so far: these stay, and no collection visits them."""
        gc.freeze()
        gc.enable()
        collect_as_usual()
        self.begun.set()

    def _leave(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self.exit(return_code=1)

    def _handle_exception(self, error: Exception) -> None:
        """End without Textual's own report, which prints the values of variables: texts of a run are among them."""
        if self.is_headless:
            super()._handle_exception(error)
        elif not self._exit:  # a person who leaves at once removes the screen while it is being made
            self._leave(error)

    def set_palette(self, palette: Palette) -> None:
        LOOK.palette = palette
        self.theme = f"rolloupe-{palette.name}"

    def action_theme(self) -> None:
        after = self._palettes.index(LOOK.palette) + 1
        self.set_palette(self._palettes[after % len(self._palettes)])
        for widget in self.screen.walk_children():
            widget.refresh()

    async def on_unmount(self) -> None:
        self.questions.close()
        self.bookmarks.close()


def theme_of(palette: Palette) -> Theme:
    """Return the theme of a palette, for the few things that Textual draws itself."""
    is_plain = palette is SIXTEEN_PALETTE

    def colour(name: str) -> str:
        chosen = palette.colour(name)
        return f"ansi_{chosen}" if is_plain else chosen

    return Theme(
        name=f"rolloupe-{palette.name}",
        primary=colour("accent"),
        foreground=colour("ink-1"),
        background=colour("surface-page"),
        surface=colour("surface-float"),
        panel=colour("surface-pane"),
        dark=palette is not LIGHT_PALETTE,
        variables={
            "scrollbar": colour("line-2"),
            "scrollbar-hover": colour("ink-3"),
            "scrollbar-active": colour("accent"),
            **{f"scrollbar-{part}": colour("surface-pane") for part in GROUNDS},
            "line": colour("line-2"),
            "faint": colour("ink-3"),
        },
    )
