"""What a run that changes leaves alone: where a person is, what they chose, what they wrote."""

import threading
from pathlib import Path
from typing import Any

import pytest

from rolloupe import query
from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.insight import findings as insight_findings
from rolloupe.insight import lint as insight_lint
from rolloupe.query import Curve, CurveEntry
from rolloupe.record import Recorder
from rolloupe.state import State
from rolloupe.tui.run.questions import Questions
from rolloupe.tui.run.session import Session
from rolloupe.tui.screens import metrics
from rolloupe.tui.screens.findings import FindingsScreen
from rolloupe.tui.screens.tokens import TokenPane
from tests.cli.support import row, write_run
from tests.index.support import SteppedClock
from tests.tui.support import Driver, terminal
from tests.tui.test_early_keys import Gate

LINES = "\n".join(f"needle {n}" for n in range(200))


pytestmark = pytest.mark.anyio


def two_samples(folder: Path) -> Path:
    """A run of one step with two samples."""
    return write_run(folder, {0: [row(n) for n in range(2)]})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the shared terminal."""
    return two_samples(tmp_path_factory.mktemp("runs") / "run")


async def test_the_token_view_shows_what_came_while_its_help_was_open(
    me: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def under_the_help(key: str, *, fails: bool) -> str:
        with monkeypatch.context() as patch:
            if fails:
                patch.setattr(query, "sample_and_group", fail)
            gate = Gate(patch, "sample_and_group")
            me.send(key)
            await gate.until_asked(me)
            me.send("question_mark")
            while len(me.app.screen_stack) < 3:
                await me.pilot.pause(0.01)
            gate.open()
            await me.settle()
        return await me.press("escape")

    def fail(*_: Any) -> None:
        raise NotFound("the disk is gone")

    await me.press("t")
    assert "Tokens  train/0/0/1" in await under_the_help("n", fails=False)
    assert "the disk is gone" in await under_the_help("p", fails=True)


async def test_a_sample_that_is_read_again_stays_where_it_was(tmp_path: Path) -> None:
    with Recorder(tmp_path / "run", code=None) as recorder:
        logprobs = [-((n * 7) % 20) / 10 for n in range(20)]
        recorder.sample(
            step=0, prompt="p", response=LINES, reward=1, token_ids=list(range(20)), series={"logprobs": logprobs}
        )
        recorder.step_end(0)

    async with terminal(tmp_path / "run", tmp_path) as me:
        await me.rest()
        await me.press("f")
        await me.type("needle")
        assert "match 3 of 200" in await me.press(*["enter"] * 3)
        await me.press("escape", "f")
        await me.type("needle 1")
        await me.press("enter", "enter")
        me.rollouts.reader.scroll_to(y=90, animate=False)
        me.rollouts.nav.again()
        await me.settle()
        assert "match 2 of 111" in me.text and me.rollouts.reader.scroll_offset.y == 90, "found, and scrolled away"
        await me.press("escape", "t", "w")
        pane = me.app.screen.query_one(TokenPane)
        first = pane.cursor
        me.rollouts.nav.again()
        await me.settle()
        assert pane.cursor == first != 0
        await me.press("w")
        assert pane.cursor not in (0, first), "the next one, not the first again"


async def test_a_run_that_is_opened_anew_pulls_nobody_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(name: str, steps: int) -> None:
        (tmp_path / "runs" / name).mkdir(parents=True, exist_ok=True)
        row = '{{"prompt": "p", "response": "r{}", "reward": 1, "ref_reward": 0, "step": {}}}\n'
        (tmp_path / "runs" / name / "data.jsonl").write_text("".join(row.format(n, n // 4) for n in range(4 * steps)))

    write("task", 2)

    async with terminal(tmp_path / "runs", tmp_path, clock=SteppedClock()) as me:
        before, gate = me.rollouts.live.session, Gate(monkeypatch, "wait_for_samples", Session)
        write("eval_task", 1)
        await gate.until_asked(me)
        me.type_ahead("nn")
        while me.rollouts.nav.shown.number != 2:
            await me.pilot.pause(0.01)
        at = me.shown
        gate.open()
        await me.until(lambda: me.rollouts.live.session is not before)
        assert me.shown == at and "Sample 3 of 4" in me.text


async def test_a_run_without_an_index_keeps_nobody_from_moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [write_run(tmp_path / name, {0: [row(n) for n in range(3)]}) for name in ("one", "two")]

    async with terminal(runs, tmp_path) as me:
        with monkeypatch.context() as patch:
            gate = Gate(patch, "wait_for_samples", Session)
            await me.press("1", "down")
            me.send("enter")
            await gate.until_asked(me)
            await me.pilot.pause(0.05)
            assert "Opening two" in me.text
            me.send("n")
            while not me.shown.endswith("/1"):
                await me.pilot.pause(0.01)
            gate.open()
            await me.settle()
        assert me.lines[0].split()[0] == "one" and me.shown == "train/0/0/1", "who moves stays"
        await me.press("b", "p", "n", "1", "down", "enter")
        assert me.lines[0].split()[0] == "two" and "★" not in me.text


async def test_no_bookmark_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def marks() -> list[str]:
        state = State(tmp_path / "state")
        names = [mark.name for owner in state.owners() for mark in state.of(owner.key)]
        state.close()
        return names

    async with terminal(two_samples(tmp_path / "run"), tmp_path) as me:
        me.type_ahead("bbb")
        await me.settle()
        assert marks() == ["train/0/0/0"], "three times is once"
        gate = Gate(monkeypatch, "page", Session)
        me.send("n")
        await gate.until_asked(me)
        me.rollouts.action_bookmark()
        threading.Timer(0.2, gate.open).start()
        me.app.exit()
    assert marks() == [], "nor by who leaves at once"


def test_what_is_written_is_done_though_newer_questions_come() -> None:
    is_let = threading.Event()
    done: list[int] = []
    questions = Questions(lambda then: then())
    questions.ask("first", lambda: is_let.wait(20), lambda _: None, pytest.fail)
    for number in range(3):
        questions.write(lambda number=number: number, done.append, pytest.fail)
    threading.Timer(0.1, is_let.set).start()
    questions.close()
    assert done == [0, 1, 2]


async def test_no_star_of_another_sample_is_shown(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    await me.press("b")
    gate = Gate(monkeypatch, "has", type(me.rollouts.bookmarks))
    me.send("n")
    await gate.until_asked(me)
    while not me.shown.endswith("/1"):
        await me.pilot.pause(0.01)
    await me.pilot.pause(0.02)
    assert "★" not in me.text
    gate.open()
    await me.settle()
    assert "★" in await me.press("p")


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_split_that_was_named_before_the_run_began(tmp_path: Path, is_there: bool) -> None:
    run = tmp_path / "run"
    if is_there:
        run.mkdir()
        (run / "metrics.jsonl").write_text('{"step": 0, "loss": 1.0}\n')

    async with terminal(run, tmp_path, split="eval/math", clock=SteppedClock()) as me:
        write_run(run, {step: [row(0)] for step in (0, 1)})
        await me.until(lambda: "no samples of eval/math yet, only of train" in me.rollouts.nav.shown.note)
        write_run(run, {4: [row(0, dataset="math")]}, "eval")
        await me.until(lambda: me.shown == "eval/math/4/0/0")


async def test_steps_are_those_of_the_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", {step: [row(0)] for step in (0, 1, 7)})
    write_run(run, {step: [row(0, dataset="math")] for step in (7, 30)}, "eval")

    async with terminal(run, tmp_path) as me:
        await me.rest()  # the run itself asks for a catalogue as long as it is indexed
        with monkeypatch.context() as patch:
            gate = Gate(patch, "catalogue")
            await me.press("2", "home")
            me.type_ahead("math", "enter")
            await gate.until_asked(me)
            assert me.rollouts.nav.place.split == "eval/math" and me.rollouts.live.split_state is None
            me.send("N")
            gate.open()
            await me.settle()
        assert me.shown == "eval/math/30/0/0" and "step 30 / 30" in me.lines[0]

        def fail(*_: Any) -> None:
            raise NotFound("the disk is gone")

        with monkeypatch.context() as patch:
            patch.setattr(query, "sample_and_group", fail)
            me.rollouts.nav.go_to_split("train")
            await me.settle()
        assert me.shown == "eval/math/30/0/0" and "step 30 / 30" in me.lines[0], "back where it can be read"


async def test_findings_that_nobody_waits_for_are_not_looked_for(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    for module, name in ((insight_findings, "findings"), (insight_lint, "lint")):
        monkeypatch.setattr(module, name, lambda *_, name=name: looked.append(name))
    is_indexed = threading.Event()

    await me.rest()
    monkeypatch.setattr(OpenRun, "wait_all", lambda _, timeout_s: is_indexed.wait(timeout_s))
    me.type_ahead("i")
    while not isinstance(me.app.screen, FindingsScreen):
        await me.pilot.pause(0.01)
    me.send("escape")
    await me.answers()
    assert not looked
    is_indexed.set()


async def test_curves_of_other_runs_that_nobody_waits_for_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [two_samples(tmp_path / name) for name in ("one", "two", "three", "four")]
    read: list[OpenRun] = []

    async with terminal(runs, tmp_path) as me:
        gate = Gate(monkeypatch, "curve_of", metrics)
        held = metrics.curve_of

        def noted(run: OpenRun, entry: CurveEntry) -> Curve | None:
            read.append(run)
            return held(run, entry)

        monkeypatch.setattr(metrics, "curve_of", noted)
        me.send("m")
        await gate.until_asked(me)
        me.send("escape")
        while len(me.app.screen_stack) > 1:
            await me.pilot.pause(0.01)
        gate.open()
        await me.settle()
        assert len(read) == 1


@pytest.mark.parametrize(("theme", "turns"), [("sixteen", 3), ("dark", 2)])
async def test_the_colours_come_back(tmp_path: Path, theme: str, turns: int) -> None:
    async with terminal(two_samples(tmp_path / "run"), tmp_path, theme=theme) as me:
        await me.briefed()
        looks = [me.inked()]
        for _ in range(turns):
            await me.press("T")
            looks.append(me.inked())
        assert looks[0] == looks[-1] and len(set(looks)) == turns


async def test_a_page_of_a_list_that_failed_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", {0: [row(n) for n in range(250)]})

    async with terminal(run, tmp_path) as me:

        def fail(*_: Any) -> None:
            raise NotFound("the disk is gone")

        await me.rest()
        with monkeypatch.context() as patch:
            patch.setattr(Session, "page", fail)
            me.rollouts.side.list.scroll_to(y=200, animate=False)
            await me.settle()
            assert "the disk is gone" in me.text and me.rows("list")[200].strip() == "…"
        for y in range(201, 211):  # a question from before may fail late: the next look asks again
            me.rollouts.side.list.scroll_to(y=y, animate=False)
            await me.settle()
        assert me.rows("list")[205].split()[0] == "205"
