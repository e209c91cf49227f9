"""Every key of the terminal."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rolloupe.state import State
from rolloupe.tui.app import Terminal
from rolloupe.tui.draw.ink import PLAIN, Line
from rolloupe.tui.keys import EVERY_KEY, KEYS
from rolloupe.tui.screens.pickers import Choice, PickScreen
from rolloupe.tui.screens.rollouts import Rollouts
from rolloupe.tui.views.samples import TextBlock
from rolloupe.tui.widgets.text_pane import Layout, TextPlace
from tests.cli.support import row, write_run
from tests.tui.support import NARROW, WIDE, Driver, play, rewind
from tests.tui.test_snapshots import SCENES

pytestmark = pytest.mark.anyio

LONG = "\n".join(f"line {n}" for n in range(200))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Steps 0, 3 and 7 of eight samples in groups of two, one of them discarded, and two evaluations."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    for step in (0, 3, 7):
        rows = [row(n, reward=float((n * 3 + step) % 8), response=f"Answer {n} needle{step}{n}") for n in range(8)]
        rows[2] |= {"response": f"{LONG}\nneedle twice needle"}
        rows[4] |= {"score_of_style": 0.25, "only_here": {"deep": [1, 2]}}
        write_run(folder, {step: rows})
    answers = [row(n, dataset="gsm8k", reward=0.5) for n in range(2)]
    answers += [row(n, dataset="math", reward=0.25) for n in range(3)]
    return write_run(folder, {7: answers}, "eval")


async def test_each_key_of_the_table_does_what_its_row_says(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, ...]] = []

    def noted(name: str) -> Callable[..., None]:
        return lambda _, *words: done.append((name, *map(repr, words)))

    actions = {one.action: re.findall(r"[^(),\s]+", one.action) for one in KEYS}
    for name, *_ in actions.values():
        owner, method = (Terminal, name.removeprefix("app.")) if name.startswith("app.") else (Rollouts, name)
        assert hasattr(owner, f"action_{method}"), name
        monkeypatch.setattr(owner, f"action_{method}", noted(name))

    me.pane("reader").focus()
    for one in KEYS:
        for key in one.keys:
            done.clear()
            await me.press(key)
            assert done == [tuple(actions[one.action])], key


def test_every_key_of_the_table_is_pressed_in_some_scene() -> None:
    """Beside what a key calls, a scene looks at what comes of it: a new key needs one."""
    pressed = {
        word
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".press")
        for word in map(ast.unparse, node.args)
    }
    scenes = {repr(word) for keys in SCENES.values() for word in keys.split()}
    assert {repr(key) for one in KEYS for key in one.keys} - (pressed | scenes) == set()


async def test_moving(me: Driver) -> None:
    assert me.shown == "train/7/0/0", "the newest step comes first"
    assert "Sample 1 of 8" in me.text and "step 7 / 7" in me.lines[0] and "1/2 in group" in me.text
    assert "first sample" in await me.press("p")
    await me.press("n", "n")
    assert me.shown == "train/7/1/2" and "needle twice" not in me.text
    await me.press("p")
    assert me.shown == "train/7/0/1" and me.rollouts.side.list.cursor == 1
    await me.press("P")
    assert me.shown == "train/3/0/0" and "step 3 / 7" in me.lines[0], "steps are the trainer's, not positions"
    assert "first step" in await me.press("P", "P")
    await me.press("N", "N")
    assert me.shown == "train/7/0/0"
    assert "last step" in await me.press("N")
    assert "last step" not in await me.press("s") and "n/p sample" in me.lines[-1]
    assert "last step" in await me.press("N")
    assert "last step" not in await me.press("question_mark", "escape")


async def test_reading(me: Driver) -> None:
    await me.press("n", "n")
    pane = me.pane("reader")
    assert "line 0" in me.read and pane.scroll_offset.y == 0
    await me.press("j", "j")
    assert pane.scroll_offset.y == 2 * (pane.size.height - 1) and "line 0" not in me.read
    await me.press("k")
    assert pane.scroll_offset.y == pane.size.height - 1
    await me.press("pagedown")
    assert pane.scroll_offset.y == 2 * (pane.size.height - 1)
    await me.press("pageup")
    assert pane.scroll_offset.y == pane.size.height - 1
    assert "needle twice needle" in await me.press("G") and "100%" in me.lines[-1]
    assert await me.press("g") and "line 0" in me.read and "0%" in me.lines[-1]
    await me.press("down", "down", "up")
    assert pane.scroll_offset.y == 1
    table = await me.press("s")
    assert "group_index" in table and "derived.characters" in table and me.rollouts.view == "table"
    await me.press("h", "l")
    assert "Question" in await me.press("s")
    assert me.shown == "train/7/1/2"
    await me.press("r")
    assert me.shown == "train/7/1/2", "reading again stays at the sample"


async def test_who_types_quickly_types_into_the_line(me: Driver) -> None:
    await me.type("fq4")
    assert me.rollouts.prompt.line.value == "q4", "q did not quit"
    await me.press("escape", "4")
    await me.type("length ↑", "enter")
    assert me.rollouts.nav.place.sort == "length", "the list was narrow before Enter"
    await me.press("V", "V")  # the list has the focus, and gets what is typed before the line has it
    await me.type("/Answer 3", "enter")
    assert "3 samples" in me.text


async def test_orders_without_values_are_not_offered(me: Driver) -> None:
    await me.rest()
    await me.press("4")
    await me.type("a")
    offered = " ".join(me.rows("pick-rows")).split()
    assert "reward" in offered and "derived.characters" in offered
    assert not {"advantage", "step", "derived.mean_entropy"} & set(offered)


async def test_choosing(me: Driver) -> None:
    assert "3.50" in await me.press("3")
    await me.type("11")
    assert "nothing has all these words" in me.text
    await me.press("ctrl+u")
    await me.type("0")
    await me.press("enter")
    assert me.shown == "train/0/0/0"
    await me.press("4")
    await me.type("reward")
    await me.press("enter")
    assert "reward ↓" in me.text
    rewards = [me.rollouts.nav.shown.item.reward for _ in range(8) if await me.press("n")]  # type: ignore[pyrefly:missing-attribute]
    assert rewards[:6] == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0], "next follows the order"
    await me.press("2")
    await me.type("math")
    await me.press("enter")
    assert me.shown == "eval/math/7/0/0" and "Sample 1 of 3" in me.text
    await me.press("2", "home")
    await me.press("down", "enter")
    assert "Sample 1 of 5" in me.text, "all evaluations of a step together"
    before = me.shown
    await me.press("2", "escape")
    assert me.shown == before and len(me.app.screen_stack) == 1
    assert "relax" in await me.press("1")
    await me.press("escape")
    assert me.app.focused is not me.pane("fields")
    await me.press("5")
    assert me.app.focused is me.pane("fields")
    me.app.push_screen(PickScreen("Step", [Choice(str(step)) for step in (9950, 501, 50)]))
    await me.settle()
    await me.type("50")
    assert [one.strip() for one in me.rows("pick-rows")] == ["50", "501", "9950"], "what is typed comes first"


async def test_finding(me: Driver) -> None:
    await me.press("n", "n", "f")
    await me.type("needle")
    assert "match 1 of 2" in await me.press("enter") and "needle twice needle" in me.text
    assert "match 2 of 2" in await me.press("enter")
    await me.press("enter")
    assert me.shown == "train/7/1/3" and "match 1 of 1" in me.text, "past the sample"
    assert "found in step" not in me.text
    await me.press("escape")
    assert me.rollouts.finder.text == "" and not me.rollouts.prompt.is_open
    await me.press("f")
    await me.type("needle35")
    await me.press("enter")
    assert me.shown == "train/3/2/5" and "found in step 3 · match 1 of 1" in me.text, "past the step"
    await me.press("escape", "f")
    await me.type("nowhere to be seen")
    assert "No further sample" in await me.press("enter")
    await me.press("escape", "n", "f")
    await me.type("Answer 0 needle30")
    await me.press("enter")
    assert me.shown == "train/3/0/0" and "match 1 of 1" in me.text, "above it in the list"
    await me.press("escape", "s", "f")
    await me.type("deep")
    await me.press("enter")
    assert me.shown == "train/3/2/4", "whatever the screen shows of a sample is found in its step"
    assert "No further sample" in await me.press("enter", "enter", "enter")
    assert me.shown == "train/0/2/4", "at other steps, too"
    await me.press("escape", "N", "s", "slash")
    await me.type("needle06")
    hits = await me.press("enter")
    assert "train/0/3/6" in hits and "1 sample" in hits
    await me.press("enter")
    assert me.shown == "train/0/3/6" and "match 1 of 1" in me.text


def test_a_long_text_and_a_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[TextPlace] = []
    row_of = Layout.row_of

    def counted(layout: Layout, place: TextPlace) -> int:
        looks.append(place)
        return row_of(layout, place)

    async def scene(me: Driver) -> None:
        await me.press("G", "f")
        monkeypatch.setattr(Layout, "row_of", counted)
        await me.type("needle")
        shown = await me.press("enter")
        assert "match 1,9" in shown and len(looks) < 20, "a find far down looks at few matches"
        assert "%" not in (await me.press("escape", "P")).splitlines()[-1], "all of the text is in view"
        for lines, has_more in ((20, True), (36, False)):
            await me.draw_at(WIDE[0], lines)
            assert ("0%" in me.lines[-1]) == has_more

    texts = {step: "\n".join(f"needle {n}" for n in range(count)) for step, count in ((0, 20), (1, 2000))}
    play(write_run(tmp_path / "run", {step: [row(0, response=text)] for step, text in texts.items()}), tmp_path, scene)


def test_the_row_of_a_place_is_where_its_text_is() -> None:
    margin: list[Line] = [[("role", PLAIN)], [("fact", PLAIN)]]
    blocks = [TextBlock("response", margin, text) for text in ("", "one two three " * 40, "short", "\n\nx\n")]
    for width in (30, 120):
        layout = Layout(blocks, width)
        for number, block in enumerate(blocks):
            for at in range(len(block.text)):
                row = layout.rows[layout.row_of(TextPlace(number, at, at + 1))]
                assert row.block == number and row.nth >= 0 and row.start <= at <= row.stop


async def test_a_walk_says_how_far_it_has_come_and_stops(me: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    monkeypatch.setattr(me.rollouts, "tell", lambda words, **_: said.append(words))
    await me.press("f")
    await me.type("nowhere to be seen")
    await me.press("enter")
    assert any("searched" in words and "Esc: stop" in words for words in said)
    assert any("every field of step 0, sample 1 …" in words for words in said)
    assert said[-1].startswith("No further sample")


async def test_filtering(me: Driver) -> None:
    await me.press("F")
    await me.type("reward > 5")
    await me.press("enter")
    assert "Sample 1 of 2" in me.text and me.shown == "train/7/0/0" and "reward > 5" in me.text
    assert "in group  filtered  train/7/0/0" in me.text
    await me.press("n")
    assert me.shown == "train/7/2/5"
    await me.press("F", "ctrl+u")
    await me.type("no_such = 1")
    assert "no_such" in await me.press("enter") and me.shown == "train/7/2/5", "a bad filter changes nothing"
    assert "Sample 2 of 2" in me.text and me.rollouts.prompt.line.value == "no_such = 1", "it can be mended"
    await me.press("ctrl+u")
    await me.type("response_tokens > 0 and rew")
    await me.press("tab")
    assert me.rollouts.prompt.line.value == "response_tokens > 0 and reward", "a name is completed"
    await me.press("ctrl+u", "enter")
    assert "of 8" in me.text
    assert "No sample was discarded at this step. D shows all." in await me.press("D")
    for key in "ybvt":
        assert "There is no sample here." in await me.press(key)
    assert "of 8" in await me.press("D") and "filtered" not in me.text
    await me.press("F")
    await me.type("reward > 99")
    await me.press("enter")
    assert "No sample of this step matches reward > 99 · F changes the filter." in me.text
    assert "No discarded sample of this step matches" in await me.press("D")


async def test_the_mouse(me: Driver) -> None:
    at = next(n for n, letter in enumerate(me.lines[0]) if letter in "▁▂▃▄▅▆▇█")
    await me.click("#header", at, 0)
    assert me.shown == "train/0/0/0", "the curve of the header navigates"
    await me.click("#list", 5, 3)
    assert me.shown == "train/0/1/3"
    await me.click("#fields", 3, 0)
    assert "[ ] prompt" in me.text and "Question 1?" not in me.read
    for view, shown in (("Table", "group_index"), ("Text", "Answer 3"), ("Tokens", "holds no tokens")):
        await me.click("#head", me.pane("reader").size.width - 21 + "Text  Table  Tokens".index(view), 0)
        assert shown in me.text, view
    await me.press("escape", "n", "v")
    for is_open in (True, False):
        await me.click("#columns", 70, 0)
        assert (len(me.app.screen_stack) == 2) == is_open, "the first click chooses an answer, the second opens it"
    assert me.shown == "train/0/2/5"
    me.rollouts.fields.toggle("prompt")


async def test_the_help_fits_a_narrow_window(me: Driver) -> None:
    await me.draw_at(*NARROW)
    await me.press("question_mark")
    shown = " ".join(" ".join(me.rows("help-lines")).split())
    assert all(one.meaning in shown for one in EVERY_KEY)
    assert max(map(len, me.rows("help-lines"))) <= me.pane("help-lines").size.width
    pane = me.pane("help-lines")
    places = [pane.scroll_offset.y for key in "j j k down G g".split() if await me.press(key)]
    page = pane.size.height - 1
    assert places == [page, 2 * page, page, page + 1, pane.max_scroll_y, 0]
    assert "Fields" not in await me.press("escape")


async def test_a_narrow_window_folds_the_left_pane(me: Driver) -> None:
    await me.draw_at(*NARROW)
    assert "Fields" not in me.text and "Question 0?" in me.text
    assert "Fields" in await me.press("tab") and "Question 0?" not in me.text
    assert "Question 0?" in await me.press("escape")


async def test_the_foot_says_what_to_type(me: Driver) -> None:
    await me.draw_at(*NARROW)
    for key, hint in (("f", "then the next match"), ("slash", "Enter: search"), ("F", "e.g. reward < 0.1 and")):
        assert hint in await me.press(key), key
        assert hint not in await me.press("escape") and "n/p sample" in me.text
    assert "↑/↓ row  Enter open  Tab next pane  Esc text" in await me.press("tab")
    assert "n/p sample" in await me.press("escape")


def test_what_a_person_chooses_and_keeps_and_leaving(run: Path, tmp_path: Path) -> None:
    async def panes_and_fields(me: Driver) -> None:
        order = []
        for key in ("tab", "tab", "l", "tab", "right", "h"):
            await me.press(key)
            order.append(me.app.focused.id if me.app.focused else None)
        assert order == ["pickers", "list", "fields", "reader", "pickers", "reader"]
        await me.press("shift+tab")
        assert me.app.focused is me.pane("fields")
        assert "Question 0?" in me.text
        assert "Question 0?" not in await me.press("home", "enter"), "the prompt is hidden"
        assert "[ ] prompt" in me.text
        assert "Question 0?" in await me.press("space")
        await me.press("tab", "tab", "tab", "down", "down")
        assert me.shown == "train/7/1/2", "the sample follows the cursor of the list"
        await me.press("end")
        assert me.shown == "train/7/3/7"
        names = list(me.rollouts.fields)
        assert "extra.only_here" not in names
        await me.press("up", "up", "up")
        assert "extra.only_here" in list(me.rollouts.fields), "fields of every sample, not of the first alone"
        me.rollouts.fields.toggle("extra.only_here")
        assert '"deep": [' in await me.press("r")

    async def keeping(me: Driver) -> None:
        assert "★" in await me.press("b") and "Bookmarked" in me.text
        await me.press("n")
        assert "★" not in me.text
        assert "★" in await me.press("p")
        state = State(tmp_path / "state")
        (owner,) = state.owners()
        assert [mark.name for mark in state.of(owner.key)] == ["train/7/0/0"]
        state.close()
        await me.press("n", "n", "b", "P", "B")
        assert [one.split()[:2] for one in me.rows("pick-rows")] == [
            ["train/7/0/0", "Answer"], ["train/7/1/2", "line"],
        ]  # fmt: skip
        await me.press("down", "enter")
        assert me.shown == "train/7/1/2", "a bookmark leads to another step"
        await me.press("b", "B", "enter")
        assert me.shown == "train/7/0/0"
        assert "★" not in await me.press("b")
        assert "No sample of this run is bookmarked" in await me.press("B")
        await me.press("y")
        assert me.app.clipboard == "train/7/0/0" and "Sent to the clipboard: train/7/0/0" in me.text

    async def help_and_palette(me: Driver) -> None:
        await me.press("question_mark")
        rows = me.pane("help-lines")
        shown = "\n".join("".join(text for text, _ in rows.line_at(y)) for y in range(rows.count()))
        assert all(one.label in shown and one.meaning in shown for one in EVERY_KEY)
        await me.press("escape", "ctrl+p")
        await me.type("next step")
        await me.press("escape")
        await me.press("P", "ctrl+p")
        await me.type("next step")
        await me.press("enter")
        assert me.shown == "train/7/0/0"
        dark = me.inked()
        await me.press("T")
        assert me.inked() != dark and "#fefdfd" in me.inked()
        await me.press("L")
        assert me.rollouts.live.is_following
        await me.press("q")
        assert me.app._exit

    async def scenes(me: Driver) -> None:
        for scene in (panes_and_fields, keeping, help_and_palette):
            await rewind(me)
            await scene(me)

    play(run, tmp_path, scenes)
