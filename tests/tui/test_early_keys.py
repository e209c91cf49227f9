"""Keys and clicks that come before the answer to an earlier one: a person does not wait."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.events import Focus

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.model import SampleKey
from rolloupe.state import State
from rolloupe.state.records import Change, SampleMark
from rolloupe.tui.app import Terminal
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.screens import find
from rolloupe.tui.screens.find import SearchScreen
from rolloupe.tui.screens.metrics import MetricsScreen
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.start import Opener, RunChoice
from tests.cli.support import row, write_run
from tests.tui.support import WIDE, Driver

SCREENS = {"m": "curve_catalogue", "v": "compared", "E": "evals", "t": "token_page"}
"""The keys of screens, and the query that each begins with."""


pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps of four samples, of which the last two say `far`, and an evaluation."""
    rows = [row(n, response=f"Answer {n} {'far' if n > 1 else 'near'}") for n in range(4)]
    folder = write_run(tmp_path_factory.mktemp("runs") / "run", dict.fromkeys(range(3), rows))
    return write_run(folder, {0: [row(n, dataset="gsm8k") for n in range(2)]}, "eval")


class Gate:
    """Holds every answer to a query until it opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, module: Any = query) -> None:
        self.is_asked, self._is_open = threading.Event(), threading.Event()
        asked: Callable[..., Any] = getattr(module, name)

        def held(*args: Any, **named: Any) -> Any:
            self.is_asked.set()
            assert self._is_open.wait(5)
            return asked(*args, **named)

        monkeypatch.setattr(module, name, held)

    async def until_asked(self, me: Driver) -> None:
        """Wait until a question waits for its answer."""
        for _ in range(1000):
            if me.clock is not None:
                me.clock.skip()
            await me.pilot.pause(0.002)
            if self.is_asked.is_set():
                return
        raise TimeoutError("nothing was asked")

    def open(self) -> None:
        """Let all answers through."""
        self._is_open.set()


@contextmanager
def broken(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Have a query fail."""

    def fail(*_: Any, **__: Any) -> None:
        raise NotFound("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(query, name, fail)
        yield


async def test_a_screen_that_is_left_before_its_answer(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, name in SCREENS.items():
        with monkeypatch.context() as patch:
            gate = Gate(patch, name)
            me.send(key)
            await gate.until_asked(me)
            for _ in range(2):  # the second key must not leave the main screen as well
                me.send("escape")
            await me.pilot.pause(0.02)
            gate.open()
            await me.settle()
        assert "Sample 1 of 4" in me.text and len(me.app.screen_stack) == 1, key


async def test_keys_and_clicks_before_the_answer(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = "right left down up j k h l g G x w u X escape N P n p enter v t m E"

    for key, name in {**SCREENS, "n": "sample_and_group", "P": "samples", "V": "groups_page"}.items():
        with monkeypatch.context() as patch:
            gate = Gate(patch, name)
            me.send(key)
            await gate.until_asked(me)
            for one in keys.split():
                me.send(one)
            await me.pilot.pause(0.05)
            for place in ((20, 3), (100, 12)):
                me.click_ahead(me.app.screen, *place)
            await me.pilot.pause(0.05)
            gate.open()
            await me.settle()
        while len(me.app.screen_stack) > 1:
            await me.press("escape")
        assert "Sample 1 of" in await me.press("4", "home", "enter"), key


async def test_a_search_that_is_left_before_its_hits(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        gate = Gate(patch, "Search", find)
        await me.press("slash")
        me.type_ahead("Answer", "enter")
        await gate.until_asked(me)
        me.send("enter")
        me.send("escape")
        await me.pilot.pause(0.05)
        gate.open()
        await me.settle()
    assert "Sample 1 of 4" in me.text and len(me.app.screen_stack) == 1
    await me.press("slash")
    await me.type("Answer", "enter")
    assert "14 samples" in me.text


async def test_enter_again_does_not_begin_a_find_anew(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Reader")
    me.rollouts.finder.enter("far")
    await gate.until_asked(me)
    asked = me.rollouts.questions.number("find")
    me.rollouts.finder.enter("far")
    assert me.rollouts.questions.number("find") == asked
    gate.open()
    await me.settle()
    assert me.shown.endswith("/2")
    me.rollouts.finder.enter("far")
    await me.settle()
    assert me.shown.endswith("/3")


async def test_a_search_ends_a_find(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Reader")
    me.rollouts.finder.enter("nowhere")
    await gate.until_asked(me)
    me.rollouts.action_search()
    me.type_ahead("Answer", "enter")
    while not isinstance(me.app.screen, SearchScreen):
        await me.pilot.pause(0.01)
    gate.open()
    await me.settle()
    assert "14 samples" in me.text and "No further" not in me.rollouts.message


async def test_an_answer_of_an_evaluation_that_was_left(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for keys, name in (((), "grid"), (("enter",), "answers")):
        await me.press("E", *keys)
        with monkeypatch.context() as patch:
            gate = Gate(patch, name)
            me.send("enter")
            await gate.until_asked(me)
            me.send("escape")
            await me.pilot.pause(0.02)
            gate.open()
            await me.settle()
        assert "Sample 1 of 4" in me.text if name == "grid" else "Evaluations" in me.text, name
    await me.press("escape")
    assert me.shown == "train/2/0/0"


async def test_a_choice_before_the_answer_to_an_earlier_one(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "sample_and_group")
    me.send("n")
    await gate.until_asked(me)
    me.send("3")
    await me.pilot.pause(0.02)
    me.type_ahead("0", "enter")
    await me.pilot.pause(0.02)
    gate.open()
    await me.settle()
    assert me.shown == "train/0/0/0"


async def test_a_failure_is_said_on_the_screen_that_asked(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, name in SCREENS.items():
        with broken(monkeypatch, name):
            shown = await me.press(key)
        assert isinstance(me.app.screen, BackScreen) and "the disk is gone" in shown and "Reading" not in shown, key
        await me.press("escape")
    await me.press("t")
    with broken(monkeypatch, "sample_and_group"):
        assert "the disk is gone" in await me.press("n"), "who goes on in the token view looks at that"
    assert "the disk" not in await me.press("n") and me.shown.endswith("/1")
    await me.press("escape")


async def test_a_failure_beside_the_way_to_a_sample_stops_nobody(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "sample_and_group")
    me.send("n")
    await gate.until_asked(me)
    me.rollouts.failed("state", "the disk is gone")
    assert me.rollouts.nav.number == 1
    gate.open()
    await me.settle()
    assert me.shown.endswith("/1")


def test_a_question_that_is_forgotten_is_not_worked_on() -> None:
    is_let, heard = threading.Event(), threading.Event()
    worked: list[int] = []

    def work() -> bool:
        worked.append(1)
        return True

    questions = Questions(lambda then: then())
    questions.ask("first", lambda: is_let.wait(20), lambda _: None, pytest.fail)
    for number in range(9):
        questions.ask(f"curve {number}", work, lambda _: heard.clear(), pytest.fail)
        questions.forget(f"curve {number}")
    questions.ask("last", lambda: True, lambda _: heard.set(), pytest.fail)
    is_let.set()
    assert heard.wait(20) and not worked and not questions.are_open
    questions.close()


async def test_a_click_on_another_curve_chooses_it(me: Driver) -> None:
    await me.press("P", "m", "left", "left")
    for is_open in (True, False):
        await me.click("#metrics", 4, 1)
        assert isinstance(me.app.screen, MetricsScreen) == is_open, "the second click opens the step"
    assert me.shown == "train/0/0/0", "the chosen step, on every curve"


async def test_a_bookmark_that_another_viewer_changes_meanwhile(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    write, left = State.write, [1]

    def late(self: State, change: Any, run: Any = None, owner: str = "") -> Any:
        if left:
            left.clear()
            other = SampleMark(bookmarked=False, note="theirs", uid="", excerpt="")
            write(self, Change(kind="sample", name=change.name, value=other, seen=change.seen), run, owner)
        return write(self, change, run, owner)

    monkeypatch.setattr(State, "write", late)
    assert "Bookmarked" in await me.press("b") and not left
    assert me.rollouts.bookmarks.has(me.rollouts.live.session.run, me.rollouts.nav.shown.sample.key)  # type: ignore[pyrefly:missing-attribute]


async def test_a_find_is_forgotten_by_one_who_moves(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, "Reader")
    me.rollouts.finder.enter("far")
    await gate.until_asked(me)
    me.send("n")
    await me.pilot.pause(0.05)
    gate.open()
    await me.settle()
    assert me.shown.endswith("/1")


def test_keys_before_the_run_is_open_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "run", {step: [row(n, response=f"Answer {n}") for n in range(4)] for step in range(3)})

    async def on_stage(keys: Sequence[str], gated: str, then: Callable[[Driver], Awaitable[None]]) -> None:
        with monkeypatch.context() as patch:
            gate = Gate(patch, gated)
            opener = Opener(RunChoice([tmp_path / "run"], str(tmp_path / "index")))
            app = Terminal(opener.future, None, str(tmp_path / "state"), opener.awaited)
            async with app.run_test(size=WIDE) as pilot:
                me = Driver(app, pilot)
                await gate.until_asked(me)
                for key in keys:
                    me.send(key)
                    await pilot.pause(0.01)
                assert not keys or len(app.screen_stack) == 1
                await then(me)
                gate.open()
                await me.settle()
                if app.is_running and not app._exit:
                    await then(me)
            opener.leave()
            opener.future.result().library.close()

    def shows(*words: str) -> Callable[[Driver], Awaitable[None]]:
        left = list(words)

        async def look(me: Driver) -> None:
            word = left.pop(0)
            assert word in me.text + me.shown, me.text

        return look

    for gated in ("sample_and_group", "steps"):  # what the first sample waits for, and what the other keys wait for
        for keys, early, late in (
            ("P n", "2 keys wait until the run is open · Esc: forget", "train/1/0/1"),
            ("3 0 enter", "3 keys wait", "train/0/0/0"),
            ("slash q u i t s enter", "7 keys wait", "Search  quits  0 samples"),
            ("n escape", "", "train/2/0/0"),
        ):
            asyncio.run(on_stage(keys.split(), gated, shows(early, late)))


async def test_enter_that_is_typed_before_the_app_starts(me: Driver) -> None:
    await me.rest()
    await me.type("Freward > 2", "ctrl+j")
    await me.settle()
    assert "Sample 1 of 1" in me.text


async def test_keys_while_no_run_is_there_say_so(tmp_path: Path) -> None:
    awaited: Future[str] = Future()
    app = Terminal(Future(), None, str(tmp_path), awaited)

    async with app.run_test(size=WIDE) as pilot:
        me = Driver(app, pilot)
        me.send("n")
        await pilot.pause(0.02)
        assert "1 key waits until the run is open" in me.text
        awaited.set_result("Waiting for a run at /data.")
        await me.settle()
        assert "There is no run yet" in await me.press("m") and len(app.screen_stack) == 1
        assert "All keys" in await me.press("question_mark", "G") or len(app.screen_stack) == 2
        await me.press("q")
        assert len(app.screen_stack) == 1 and not app._exit
        await me.press("q")
        assert app._exit, "q quits at once"


async def test_keys_of_a_screen_that_is_not_there_yet_are_for_it(me: Driver) -> None:
    await me.type("30", "enter")
    assert me.shown == "train/0/0/0"
    await me.type("4length up", "escape")
    assert len(me.app.screen_stack) == 1 and me.rollouts.nav.place.sort == "index"
    await me.type("4length ↑", "enter")
    assert me.rollouts.nav.place.sort == "length"
    await me.type("m", "escape", "N")
    assert me.shown.startswith("train/1/") and len(me.app.screen_stack) == 1


KEPT = {
    "m": ("curve_catalogue", "down up left enter", "train/1/0/0"),
    "v": ("compared", "right enter", "train/2/0/1"),
    "E": ("evals", "enter enter", "eval/gsm8k/0/0/0"),
    "t": ("token_page", "n n escape", "train/2/1/2"),
}
"""Keys of screens, the query that each begins with, keys pressed before its answer, and where they lead."""


async def test_keys_of_a_screen_wait_until_it_is_read(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, (name, keys, shown) in KEPT.items():
        with monkeypatch.context() as patch:
            gate = Gate(patch, name)
            me.send(key)
            await gate.until_asked(me)
            me.type_ahead("", *keys.split())
            await me.pilot.pause(0.05)
            if key != "t":  # n and p need no tokens
                assert f"{len(keys.split())} keys wait until this is read · Esc: back" in me.text, me.text
            gate.open()
            await me.answers()
            await me.settle()
        assert me.shown == shown and len(me.app.screen_stack) == 1, (key, me.shown)
        me.rollouts.nav.go_to(SampleKey.parse("train/2/0/0"))
        await me.settle()


async def test_keys_of_a_sample_wait_until_it_is_read(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    for keys, told, stack in (
        ("n y", "Sent to the clipboard: train/2/0/1", 1),
        ("n b", "Bookmarked", 1),
        ("n v", "", 2),
    ):
        with monkeypatch.context() as patch:
            gate = Gate(patch, "sample_and_group")
            first, *others = keys.split()
            me.send(first)
            await gate.until_asked(me)
            me.type_ahead("", *others)
            await me.pilot.pause(0.03)
            assert "1 key waits until the sample is read" in me.text and len(me.app.screen_stack) == 1
            gate.open()
            await me.settle()
        assert told in me.text and len(me.app.screen_stack) == stack, me.text
        if stack == 1:
            await me.press("p")
    assert "▸ 1" in me.text, "the group of the sample that was asked for"


async def test_a_letter_right_after_escape_is_no_key_with_alt(me: Driver) -> None:
    await me.press("question_mark")
    assert "Line up" in me.text
    assert "Metrics" in await me.press("alt+m") and "Line up" not in me.text
    assert "Sample 2 of 4" in await me.press("alt+n")
    await me.press("f")
    assert "Enter" in await me.press("alt+b"), "a line to type into stays open"


async def test_letters_that_arrive_before_the_focus_stay(me: Driver) -> None:
    await me.press("slash")
    line = me.rollouts.prompt.line
    line.insert_text_at_cursor("m")
    line.post_message(Focus(from_app_focus=False))  # as on a busy machine
    await me.press("a")
    assert line.value == "ma"
