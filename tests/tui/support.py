"""The terminal, driven key by key, and what its screen shows."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.geometry import Offset, Size
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from rolloupe import index as rolloupe_index
from rolloupe.index import IndexWork
from rolloupe.tui.app import Terminal
from rolloupe.tui.draw.ink import PALETTES
from rolloupe.tui.screens import navigator
from rolloupe.tui.screens.rollouts import Rollouts
from rolloupe.tui.start import Opener, RunChoice
from rolloupe.tui.widgets.lines import LinePane
from tests.index.support import SteppedClock

WIDE, NARROW = (120, 36), (80, 24)
IDLE = 8
"""After so many turns of the loop without a question, none follows: widgets hand an action on before it asks."""


class Driver:
    """A person at the keyboard."""

    def __init__(self, app: Terminal, pilot: Pilot[Any], clock: SteppedClock | None = None) -> None:
        self.app = app
        self.pilot = pilot
        self.clock = clock

    @property
    def rollouts(self) -> Rollouts:
        """The main screen."""
        return self.app.rollouts

    async def settle(self) -> None:
        """Wait until every question is answered and drawn. Textual's own pause waits for an idle process: longer."""
        for _ in range(10_000):  # a run is opened late on a busy machine
            if self.app.begun.is_set():
                break
            await self.pilot.pause(0.002)
        for _ in range(4000):
            if self.app.questions.are_open:  # nothing settles before the answer
                await asyncio.sleep(0.002)
                continue
            await self.pilot.pause(0)  # each widget has done what it was told
            if await self._is_idle():
                DRAWN(
                    self.app.screen._compositor, screen_stack=self.app._background_screens
                )  # asks for what is in view
                await self.pilot.pause(0)
                if await self._is_idle():
                    return
            await asyncio.sleep(0.002)

    async def _is_idle(self) -> bool:
        """Whether no question is open and nothing waits to be told, laid out or drawn, for some turns of the loop."""
        for _ in range(IDLE):
            screen: Any = self.app.screen
            pumps = [self.app, *screen.walk_children(with_self=True)]
            waits = [not pump._message_queue.empty() for pump in pumps]
            waits += [screen._update_timer._active.is_set(), bool(screen._callbacks), not screen.is_mounted]
            waits += [self.app.questions.are_open, not self.app.begun.is_set()]
            if any(waits):
                return False
            await asyncio.sleep(0)
        return True

    async def answers(self) -> None:
        """Wait for answers that take long on a busy machine."""
        while self.app.questions.are_open:
            await self.settle()

    async def until(self, is_so: Callable[[], object]) -> None:
        """Let time pass, from one wait of the index to the next, until something is so."""
        assert self.clock is not None
        for _ in range(2000):
            await self.settle()
            if is_so():
                return
            self.clock.skip()
            await asyncio.sleep(0.005)
        raise AssertionError(self.text)

    async def rest(self) -> None:
        """Wait until the run is indexed, and the screen knows."""
        live = self.rollouts.live
        run = live.session.run
        assert run.wait_all(60)

        def is_known() -> bool:
            is_indexed = live.state is not None and (live.state.version, live.state.phase) == (run.version, "ready")
            return is_indexed and not live.is_due

        await self._wait(is_known, "the screen does not know that the run is indexed")

    async def briefed(self) -> None:
        """Wait until the band above the samples has its sentences."""
        await self.rest()
        await self._wait(lambda: self.rollouts.brief.brief is not None, "the brief is not there")

    async def _wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        for _ in range(3000):
            await self.settle()
            if is_so():
                return
            await asyncio.sleep(0.01)
        raise TimeoutError(otherwise)

    async def press(self, *keys: str) -> str:
        """Press keys, one after another; returns what the screen shows then."""
        for key in keys:
            self.send(key)
            await self.settle()
        return self.text

    def send(self, key: str) -> None:
        name = _character_to_key(key) if len(key) == 1 else key
        assert self.app._driver is not None
        self.app._driver.send_message(events.Key(name, key if len(key) == 1 else None))

    async def resize(self, width: int, height: int) -> None:
        """Give the window another size. Textual's own way waits for an idle process each time."""
        driver, size = self.app._driver, Size(width, height)
        assert driver is not None
        driver._size = width, height
        driver.send_message(events.Resize(size, size))
        while self.app.screen.size != size:
            await self.settle()

    async def draw_at(self, width: int, height: int) -> None:
        """Give the window another size, and wait as Textual does until all of it is drawn."""
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    def type_ahead(self, text: str, *keys: str) -> None:
        """Type a text, and press some keys, without waiting for anything."""
        for key in (*text, *keys):
            self.send(key)

    async def type(self, text: str, *keys: str) -> None:
        """Type a text, and press some keys, without a rest between them."""
        self.type_ahead(text, *keys)
        await self.settle()

    def click_ahead(self, target: Widget | str, x: int, y: int) -> None:
        """Click on a cell of a widget, without waiting. Textual's own way waits for an idle process each time."""
        widget = target if isinstance(target, Widget) else self.app.screen.query_one(target)
        place = widget.region.offset + Offset(x, y)
        assert self.app._driver is not None
        for kind in (events.MouseDown, events.MouseUp):
            self.app._driver.send_message(
                kind(None, place.x, place.y, 0, 0, 1, False, False, False, screen_x=place.x, screen_y=place.y)
            )

    async def click(self, target: Widget | str, x: int, y: int) -> None:
        """Click on a cell of a widget."""
        self.click_ahead(target, x, y)
        await self.settle()

    @property
    def lines(self) -> list[str]:
        """What the screen shows."""
        return ["".join(segment.text for segment in strip).rstrip() for strip in self.strips()]

    def strips(self) -> list[Strip]:
        """What the screen shows, with its colours, over the screens that it lies upon."""
        visible_screen_stack.set(self.app._background_screens)
        return self.app.screen._compositor.render_strips()

    @property
    def text(self) -> str:
        """What the screen shows, as one text."""
        return "\n".join(self.lines)

    @property
    def shown(self) -> str:
        """The id of the sample on the screen."""
        sample = self.rollouts.nav.shown.sample
        return "" if sample is None else str(sample.key)

    @property
    def read(self) -> str:
        """What the pane with the text shows."""
        pane = self.pane("reader")
        rows = range(pane.scroll_offset.y, min(pane.count(), pane.scroll_offset.y + pane.size.height))
        return "\n".join("".join(text for text, _ in pane.line_at(y)) for y in rows)

    def pane(self, name: str) -> LinePane:
        """A pane, by its id."""
        return self.app.screen.query_one(f"#{name}", LinePane)

    def rows(self, name: str) -> list[str]:
        """All lines of a list, by its id."""
        pane = self.pane(name)
        return ["".join(text for text, _ in pane.line_at(y)) for y in range(pane.count())]

    def inked(self) -> str:
        """What the screen shows, with the colours of each stretch: a snapshot."""
        return "\n".join(_inked(strip) for strip in self.strips())


def _inked(strip: Iterable[Segment]) -> str:
    line, before = "", ""
    for segment in strip:
        ink = _ink(segment.style)
        line += segment.text if ink == before else f"{{{ink}}}{segment.text}"
        before = ink
    return re.sub(r" +$", "", line)


def _ink(style: Style | None) -> str:
    if style is None:
        return ""
    colours = "/".join(colour.name if colour else "" for colour in (style.color, style.bgcolor))
    return colours + "b" * bool(style.bold)


DRAWN = Compositor.render_update


def _drawn_while_it_waits(app: Terminal) -> Callable[..., Any]:
    """Draw for a window that nobody sees while answers are awaited alone: else `settle` draws, once for all changes."""

    def drawn(compositor: Compositor, **how: Any) -> Any:
        return DRAWN(compositor, **how) if app.questions.are_open else None

    return drawn


@asynccontextmanager
async def terminal(
    path: Path | Sequence[Path],
    tmp_path: Path,
    size: tuple[int, int] = WIDE,
    *,
    mask: str = "",
    theme: str = "dark",
    split: str = "",
    index: Path | None = None,
    clock: SteppedClock | None = None,
) -> AsyncIterator[Driver]:
    """The terminal over a run; tests that share a run may share its index. With a clock, its index waits for that."""
    paths = [path] if isinstance(path, Path) else list(path)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(navigator, "REST_S", 0.005))
        if clock is not None:
            stack.enter_context(mock.patch.object(rolloupe_index, "IndexWork", partial(IndexWork, clock=clock)))
        opener = Opener(RunChoice(paths, str(index or tmp_path / "index"), split=split, mask=mask))
        app = Terminal(opener.future, PALETTES.get(theme), str(tmp_path / "state"), opener.awaited)
        stack.enter_context(mock.patch.object(Compositor, "render_update", _drawn_while_it_waits(app)))
        try:
            async with app.run_test(size=size) as pilot:
                driver = Driver(app, pilot, clock)
                await driver.settle()
                yield driver
        finally:
            opener.leave()
            if opener.future.exception() is None:
                opener.future.result().library.close()


async def rewind(me: Driver) -> None:
    """Go back to where the terminal begins; marks of the person and known fields stay."""
    while len(me.app.screen_stack) > 1:
        await me.press("escape")
    if me.app.size != Size(*WIDE):
        await me.draw_at(*WIDE)
    screen = me.rollouts
    screen.action_clear()
    if screen.view == "table":
        screen.action_switch()
    screen.side.show_groups(False)
    screen.live.is_following = False
    screen.nav.go(screen.live.session.first_place(), 0)
    await me.settle()
    screen.tell("")
    await me.settle()


Scene = Callable[[Driver], Awaitable[None]]


def play(path: Path | Sequence[Path], folder: Path, scene: Scene, size: tuple[int, int] = WIDE, **more: Any) -> None:
    """Play a scene at the terminal; `more` as `terminal` takes it."""

    async def on_stage() -> None:
        async with terminal(path, folder, size, **more) as driver:
            await scene(driver)

    asyncio.run(on_stage())
