"""The screens over the main one: group, tokens, metrics, evaluations; and a run that grows."""

import asyncio
import dataclasses
import gc
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from rolloupe.errors import NotFound
from rolloupe.index import OpenRun
from rolloupe.index.run_indexer import RunIndexer
from rolloupe.insight import findings as insight_findings
from rolloupe.insight.findings import Finding, Prevalence, ReadingList, RunFindings, findings
from rolloupe.insight.lint import lint
from rolloupe.query.search.pattern import mask_of
from rolloupe.questions import FindingQuery, LintQuery
from rolloupe.record import Recorder
from rolloupe.state import FindingAside, State, set_finding_aside
from rolloupe.tui.draw.charts import chart
from rolloupe.tui.draw.ink import PALETTES, PLAIN
from rolloupe.tui.run.session import Session
from rolloupe.tui.screens import metrics
from rolloupe.tui.screens.metrics import AXIS, MOST, OTHERS, MetricsScreen, SplitStep
from rolloupe.tui.screens.tokens import TokenPane
from rolloupe.tui.start import Opener, RunChoice
from rolloupe.tui.views.samples import row_block
from rolloupe.tui.views.tokens import scale_of
from rolloupe.tui.widgets.lines import LineBar, RowList
from rolloupe.tui.widgets.text_pane import Layout
from tests.cli.support import row, write_run
from tests.index.support import SteppedClock
from tests.tui.support import NARROW, Driver, play, terminal

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def run(short_grpo: Path) -> Path:
    """The run of the shared terminal."""
    return short_grpo


async def test_the_group_side_by_side(me: Driver) -> None:
    first = me.shown
    shown = await me.press("v")
    assert "1–3 of 8 answers" in shown and "reward 1.25  adv +0.787  tokens 53" in shown and "▸ 0" in shown
    assert shown.count("Noor starts with 4 candles.") == 3, "three columns side by side"
    assert "▸ 1" in await me.press("right")
    assert "4–6 of 8 answers" in await me.press("l", "l") and "best" in me.text
    await me.press("j", "k", "G", "g")
    await me.press("enter")
    assert me.shown == first.rpartition("/")[0] + "/3"
    await me.press("v", "escape")
    assert me.shown.endswith("/3") and len(me.app.screen_stack) == 1


async def test_the_best_answer_is_better_than_another(tmp_path: Path) -> None:
    rewards: dict[int, list[float | None]] = {0: [1.0, 1.0], 1: [None, None], 2: [0.5, 1.0, 1.0, None]}
    steps = {
        step: [row(n, reward=reward, group_index=0) for n, reward in enumerate(values)]
        for step, values in rewards.items()
    }

    async with terminal(write_run(tmp_path / "run", steps), tmp_path, (160, 36)) as me:
        heads = [me.lines[1] for key in ("v", "escape P v", "escape P v") if await me.press(*key.split())]
        assert [head.count("best") for head in heads] == [2, 0, 0], "no best one where all tie, or none has a reward"


async def test_discarded_samples_have_a_sign_in_the_list_and_their_whole_reason(tmp_path: Path) -> None:
    reason = "the verifier timed out while it waited for the sandbox, so the trainer trusted no reward of it"
    with Recorder(tmp_path / "run", code=None) as recorder:
        for n, why in enumerate(("", reason, "")):
            recorder.sample(step=0, group=n, index=0, prompt="p", response="r", reward=n, discarded=why)
        recorder.step_end(0)

    async with terminal(tmp_path / "run", tmp_path) as me:
        assert [line[0] for line in me.rows("list")] == [" ", "×", " "]
        await me.press("V")
        assert [line[0] for line in me.rows("list")] == [" ", "×", " "]
        await me.draw_at(*NARROW)
        await me.press("V", "escape", "n")
        assert f"discarded: {reason}" in " ".join(me.text.split()), me.text
        await me.press("5", *["down"] * list(me.rollouts.fields).index("discarded"), "enter")
        assert reason not in " ".join((await me.press("escape")).split()), "the field is hidden"


async def test_the_groups_of_a_step_with_their_rewards(tmp_path: Path) -> None:
    rewards = [0.0, 1.0, 0.5, None] + [1.0] * 40
    rows = [row(n, reward=reward, group_index=min(n // 4, 1)) for n, reward in enumerate(rewards)]
    rows = [one | {"prompt": "first" if one["group_index"] == 0 else "second"} for one in rows]
    run = write_run(tmp_path / "run", {0: rows, 3: rows[:4]})

    async with terminal(run, tmp_path, mask="irs") as me:
        await me.press("P", "V")
        first, second = me.rows("list")
        assert first.split() == ["0.500", "▁█▅·", "f*t"] and second.split() == ["1.00", "█" * 16, "second"]
        assert "2 groups" in me.text and "reward-ink-0" in str(me.pane("list").line_at(0))
        await me.press("down")
        assert me.shown == "train/0/1/4" and me.rollouts.side.list.cursor == 1
        await me.press("p")
        assert me.shown == "train/0/0/3" and me.rollouts.side.list.cursor == 0, "the group of the sample"
        await me.press("N")
        assert "1 group " in me.text and me.shown == "train/3/0/0"
        await me.press("P", "4")
        await me.type("reward")
        await me.press("enter")
        assert me.rows("list")[0].split()[0] == "1.00", "groups follow the order, too"
        await me.press("V")
        assert len(me.rows("list")) == 44 and me.rollouts.side.list.cursor == me.rollouts.nav.shown.number


async def test_the_tokens_are_tinted_and_each_has_a_card(me: Driver) -> None:
    shown = await me.press("t")
    assert all(words in me.lines[-1] for words in ("x next series", "w furthest", "? keys", "Esc back"))
    assert "Next series" in await me.press("question_mark") and "Next sample of the list" not in me.text
    shown = await me.press("escape")
    assert "KL k3" in shown and "token 41 of 94" in shown and "'<think>'  id 144" in shown
    pane = me.app.screen.query_one(TokenPane)
    tinted = me.inked()
    assert "token 42 of 94" in await me.press("right") and "'\\n'" in me.text
    assert "token 41 of 94" in await me.press("left")
    assert "Mismatch KL" in await me.press("x") and me.inked() != tinted
    await me.press("X")
    await me.type("kl_k3")
    assert "KL k3" in await me.press("enter")
    kl = pane.tokens.page.series["kl_k3"]  # type: ignore[pyrefly:missing-attribute]
    await me.press("w")
    assert pane.cursor == int(np.nanargmax(kl))
    await me.press("w")
    assert pane.cursor == int(np.argsort(-np.nan_to_num(kl))[1])
    assert pane.tokens is not None
    pane.tokens = pane.tokens._replace(texts=["漢字"] * len(pane.tokens.texts))
    pane.break_lines()
    await me.click(pane, 1 + 4 * 2, 0)
    assert pane.cursor == pane.tokens.first + 2, "two letters take four cells"
    update = await me.press("u")
    assert "update under dapo" in update and "pushed up" in update
    await me.press("n")
    assert me.shown == "train/3/00/1" and "train/3/00/1" in me.text and "update under dapo" in me.text
    await me.press("j", "k", "down", "up", "G", "g", "P", "P", "N")
    await me.press("t")
    assert "Sample 1 of" in me.text and me.shown == "train/2/00/0"


@pytest.fixture
def without_garbage() -> Iterator[None]:
    """Collect no garbage, as `show` does, until the app has begun."""
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


async def test_what_a_run_lacks_is_said(tmp_path: Path, without_garbage: None) -> None:
    async with terminal(write_run(tmp_path / "run", {0: [row(0)]}), tmp_path, NARROW) as me:
        assert gc.isenabled(), "the app has begun"
        assert "holds no tokens" in await me.press("t")
        await me.press("right", "x", "w", "u", "escape")
        assert "Sample 1 of" in me.text
        assert "no evaluations" in await me.press("E")


async def test_the_metrics_go_to_a_step(me: Driver) -> None:
    shown = await me.press("m")
    assert "Reward" in shown and "step 3  0.72" in shown and "Logprob at sampling" in shown and "⣀" in shown
    for x, step in ((AXIS, 0), (me.app.screen.query_one("#chart").size.width - 4, 3)):
        await me.click("#chart", x, 3)
        assert f"step {step} " in me.text, "a click on the chart moves the cursor"
    assert "step 1 " in await me.press("left", "left")
    assert "step 2 " in await me.press("right")
    assert "All right" in (await me.press("down")).split("share of groups")[0]
    await me.press("up", "left", "left", "left", "enter")
    assert me.rollouts.nav.place.step == 0 and len(me.app.screen_stack) == 1
    assert "step 0 " in await me.press("m", "down"), "the cursor begins at the step that the person comes from"
    await me.press("escape")
    assert not isinstance(me.app.screen, MetricsScreen)


async def test_a_point_of_a_curve_opens_samples_of_its_split(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {step: [row(0)] for step in (0, 4)})
    write_run(run, {step: [row(0, dataset="gsm8k")] for step in (2, 7)}, "eval")

    async with terminal(run, tmp_path) as me:

        async def open_curve(name: str, *keys: str) -> str:
            await me.press("m")
            nth = next(nth for nth, one in enumerate(me.rows("metrics")) if f" {name} " in one)
            await me.press(*["down"] * nth, *keys, "enter")
            return me.shown

        assert await open_curve("gsm8k") == "eval/gsm8k/2/0/0", "the split of the curve, at the step nearest to 4"
        assert await open_curve("gsm8k", "right") == "eval/gsm8k/7/0/0"
        for step, shown in ((1, 2), (4, 2), (5, 7), (99, 7)):
            me.rollouts.nav.go_to_point(SplitStep("", step))  # as of a curve that the trainer logged
            await me.settle()
            assert me.shown == f"eval/gsm8k/{shown}/0/0", "the step nearest to one without samples"


async def test_the_split_to_begin_with(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {0: [row(0)]})
    for name, step in (("gsm8k", 2), ("math", 7)):
        write_run(run, {step: [row(0, dataset=name)]}, "eval")

    async with terminal(run, tmp_path, split="eval/gsm8k") as me:
        assert me.shown == "eval/gsm8k/2/0/0"
        await me.rest()
        for split, first in (("", "train/0/0/0"), ("eval", "eval/math/7/0/0")):
            assert str(Session(me.rollouts.live.session.run, split).first().item.key) == first  # type: ignore[pyrefly:missing-attribute]
    opener = Opener(RunChoice([run], str(tmp_path / "index"), split="evil/gsm8k"))
    with pytest.raises(NotFound, match=r"no split 'evil/gsm8k'; there are: train, eval/gsm8k, eval/math"):
        opener.future.result(60)
    (run / "rollout_result/train").rename(tmp_path / "train")
    async with terminal(run, tmp_path) as me:
        assert me.shown == "eval/math/7/0/0" and "eval (all)" in await me.press("2")
        assert re.search(r"│ 2 .*\n.*│ 7 ", await me.press("escape", "3"))


async def test_the_evaluations_lead_to_their_answers(me: Driver) -> None:
    shown = await me.press("E")
    assert "held_out" in shown and "longer" in shown and "score 0." in shown and "pass@1" in shown
    grid = await me.press("enter")
    assert "solved" in grid and "█" in grid and "eval/held_out" in grid
    assert "longer" in await me.press("escape")
    await me.press("enter", "enter")
    assert me.shown.startswith("eval/held_out/0/") and me.rollouts.nav.place.split == "eval/held_out"
    assert "eval/held_out" in me.lines[0]


async def test_findings_and_broken_rules_lead_to_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(n, reward=float(n % 3)) for n in range(8)]
    rows[5]["advantage"] = float("nan")
    base = Finding(
        text="", kind="suspect", effect=0.5, z=9.0, first=0.1, last=0.9, rise=5.0,
        prevalence=Prevalence([], [], [], []), samples=ReadingList(earliest="train/0/1/2"),
    )  # fmt: skip
    flattery = replace(base, text="Flattery earns.", title="flattery", behaviour="derived.flattery")
    sorry = replace(base, text="“sorry” earns.", title="“sorry”", phrase="sorry")

    def known(run: OpenRun, asked: FindingQuery) -> RunFindings:
        return replace(findings(run, asked), findings=[flattery, sorry])

    async with terminal(write_run(tmp_path / "run", {0: rows}), tmp_path) as me:
        await me.rest()
        assert me.rollouts.live.state is not None
        me.rollouts.live.state = dataclasses.replace(
            me.rollouts.live.state, phase="text"
        )  # as one who asked a moment before the end
        me.rollouts.live.hear(me.rollouts.live.session.run)
        await me.rest()
        run = me.rollouts.live.session.run
        note, broken = findings(run, FindingQuery(split="train")).note, lint(run, LintQuery(split="train")).broken
        await me.press("i")
        await me.answers()
        shown = " ".join(me.text.split())
        assert note in shown and broken[0].is_certain and broken[0].text in shown and "certain" in shown
        assert f"rule {broken[0].rule}" in shown and f"{len(broken)} broken" in shown
        await me.press("enter")
        assert me.shown == broken[0].samples[0] != "train/0/0/0" and len(me.app.screen_stack) == 1
        await me.press("i", "question_mark")
        assert "Open one of its samples" in me.text
        await me.press("escape", "escape")
        assert len(me.app.screen_stack) == 1
        monkeypatch.setattr(insight_findings, "findings", known)
        state = State(tmp_path / "state")
        run, aside = me.rollouts.live.session.run, FindingAside("the task asks for it", "Ada", 1.7e12)
        for name, order in (("derived.flattery", "suspect certain not"), ("sorry", "certain not not")):
            set_finding_aside(state, run, name, aside)
            await me.press("escape", "i")
            await me.answers()
            assert [line.split()[0] for line in me.rows("findings") if line[1:2].strip()] == order.split()
        assert "2 set aside as no hack" in me.text and "not a hack flattery: the task asks for it" in me.text
        assert "Ada, 2023-11-14 · suspect, z 9.0" in me.text and "Flattery earns." not in me.text
        await me.press("G", "enter")
        assert me.shown == "train/0/1/2", "they can be read as well"
        state.close()


async def test_a_bad_line_is_listed_with_its_file_and_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(n) | ({"advantage": float("nan")} if n == 5 else {}) for n in range(8)]
    run = write_run(tmp_path / "run", {0: rows})
    with (run / "rollout_result/train/0.jsonl").open("a") as file:
        file.write('{"rollout_id": 0, "broken\n' * 2)

    async with terminal(run, tmp_path) as me:
        await me.rest()
        assert me.lines[0].endswith("2 problems"), "beside them every good line is there"
        gate, is_open = insight_findings.findings, threading.Event()
        monkeypatch.setattr(insight_findings, "findings", lambda *asked: is_open.wait(9) and gate(*asked))
        me.send("i")
        while "2 problems in the files" not in me.text:
            await me.pilot.pause(0.01)
        assert me.text.count("problem    ") == 2 and " train/0.jsonl, bytes " in me.text
        me.type_ahead("", "down", "enter")
        while "No sample shows it." not in me.text:
            await me.pilot.pause(0.01)
        chosen = me.rows("findings")[me.rollouts.app.screen.query_one(RowList).cursor * 3 + 1]
        is_open.set()
        await me.answers()
        at = me.app.screen.query_one(RowList).cursor
        assert me.rows("findings")[at * 3 + 1] == chosen and at > 1, "rows that came later are above it"


def test_names_of_a_table_are_whole_where_there_is_room() -> None:
    blocks = [row_block("derived.answer_before_think", 1.0), row_block("x" * 90, 2.0)]
    for width, start in ((140, "derived.answer_before_think "), (60, "derived.answer_before… ")):
        layout = Layout(blocks, width, is_table=True)
        assert "".join(text for text, _ in layout.line(0)).startswith(start)


def test_a_bar_has_no_lines_before_it_has_a_width() -> None:
    bar = LineBar("bar", lambda width: [[("title", PLAIN)]] * width)
    bar.changed()
    assert not bar.lines, "no title is cut to a cell on its way to the screen"


async def test_windows_have_the_room_that_they_need(me: Driver) -> None:
    await me.draw_at(200, 50)
    await me.press("m")
    assert len(me.app.screen.query_one("#chart", LineBar).lines) == MOST + 3, "a chart fills a high window"
    await me.draw_at(*NARROW)
    await me.press("escape", "E")
    assert "pass@4" in me.text and "held_out" in me.lines[1] and "score" in me.lines[2], "two lines in a narrow one"
    assert "24 prompts, 96 samples" in me.lines[1], "both whole"


async def test_curves_grow_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "AGAIN_S", 0.01)
    run = write_run(tmp_path / "run", {n: [row(0, reward=n)] for n in range(2)})

    def chart_lines(me: Driver) -> list[str]:
        lines = me.app.screen.query_one("#chart", LineBar).lines
        return ["".join(text for text, _ in line) for line in lines]

    async with terminal(run, tmp_path, clock=SteppedClock()) as me:
        await me.press("m", "down", "down", "left")
        before = chart_lines(me)[0].split("  ")[0]
        write_run(run, {7: [row(0, reward=9.0) | {"brand_new": 2.0}]})
        await me.until(
            lambda: any(line.split()[:1] == ["0"] and line.split()[-1:] == ["7"] for line in chart_lines(me))
        )
        assert any(" brand_new " in one for one in me.rows("metrics")), me.text
        assert chart_lines(me)[0].split("  ")[0] == before and "step 0 " in me.text, "the curve and the step stay"


async def test_a_run_that_grows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {0: [row(n) for n in range(2)]})

    async with terminal(run, tmp_path, clock=SteppedClock()) as me:
        await me.press("n")
        with (run / "rollout_result/train/0.jsonl").open("a") as file:
            file.write(json.dumps(row(2) | {"rollout_id": 0}) + "\n")
        await me.until(lambda: "Sample 2 of 3" in me.text)
        write_run(run, {1: [row(0)]})
        await me.until(lambda: "step 0 / 1" in me.lines[0])
        assert me.shown == "train/0/0/1", "nothing moves for one who does not follow"
        await me.press("L")
        assert me.shown == "train/1/0/0", "who begins to follow sees the newest step"
        assert me.lines[0].endswith("following")
        write_run(run, {5: [row(0)]})
        await me.until(lambda: me.shown == "train/5/0/0")
        assert "live" in me.lines[0]
        (run / "rollout_result/train/5.jsonl").write_text("")
        await me.until(lambda: me.shown == "train/1/0/0")
        write_run(run, {5: [row(0)]})
        await me.until(lambda: me.shown == "train/5/0/0")
        await me.press("L")
        (run / "rollout_result/train/5.jsonl").write_text("")
        await me.until(lambda: "This step has no samples." in me.text)
        assert "step 5 / 1" in me.lines[0]


def test_an_index_that_is_read_before_its_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", {0: [row(0)]})

    async def on_stage() -> None:
        async with terminal(run, tmp_path) as me:
            assert me.shown == "train/0/0/0"

    asyncio.run(on_stage())
    poll = RunIndexer.poll

    def poll_late(indexer: RunIndexer) -> None:
        time.sleep(0.3)  # as in a folder of many files
        poll(indexer)

    monkeypatch.setattr(RunIndexer, "poll", poll_late)
    asyncio.run(on_stage())


async def test_a_list_that_was_read_before_the_index_had_all_of_it(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {0: [row(n) for n in range(3)]})

    async with terminal(run, tmp_path) as me:
        early = me.rollouts.nav.shown._replace(total=1, version="earlier")
        assert me.rollouts.live.library is not None
        me.rollouts.begin(me.rollouts.live.library, me.rollouts.live.session, early, me.rollouts.mask)
        await me.settle()
        assert "Sample 1 of 3" in me.text
        me.rollouts.begin(me.rollouts.live.library, me.rollouts.live.session, early._replace(total=3), me.rollouts.mask)
        assert "Sample 2 of 3" in await me.press("n"), "a person who went on meanwhile is not taken back"


async def test_a_run_of_which_nothing_can_be_read_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {0: [row(0)]})

    async with terminal(run, tmp_path, clock=SteppedClock()) as me:
        await me.rest()
        (run / "rollout_result/train/0.jsonl").write_text("{ broken\n")
        await me.until(lambda: "No sample could be read" in me.text)
        assert "because of 1 problem; i lists what is wrong." in " ".join(me.text.split())


async def test_a_run_that_has_not_begun(tmp_path: Path) -> None:
    metrics = tmp_path / "run/metrics.jsonl"
    (run := write_run(tmp_path / "run", {0: []})).mkdir(exist_ok=True)
    metrics.write_text("".join(json.dumps({"step": step, "optim/loss": 1.0 / (step + 1)}) + "\n" for step in range(3)))

    async with terminal(run, tmp_path, clock=SteppedClock()) as me:
        assert "no samples yet" in me.text
        await me.press("n", "N", "s", "t", "v", "D", "D", "f", "escape", "E", "escape", "y", "b", "m", "escape")
        write_run(run, {4: [row(0)]})
        await me.until(lambda: me.shown == "train/4/0/0")


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_run_that_is_not_there_yet_is_awaited(tmp_path: Path, is_there: bool, without_garbage: None) -> None:
    (folder := tmp_path / "runs").mkdir()
    run = folder / "run"

    async with terminal(folder if is_there else run, tmp_path, NARROW, clock=SteppedClock()) as me:
        assert gc.isenabled()
        words = " ".join(me.text.split())
        assert "Waiting for a run at" in words and "It opens here by itself" in words
        assert ("an empty folder" if is_there else "does not exist yet") in words
        await me.press("n", "s", "question_mark", "escape", "T")
        write_run(run, {4: [row(0)]})
        await me.until(lambda: me.shown == "train/4/0/0")
        assert "Waiting" not in me.text


async def test_an_evaluation_that_begins_beside_its_run(tmp_path: Path) -> None:
    def write(name: str, steps: int) -> None:
        row = {"prompt": "p", "reward": 1.0, "ref_reward": 0.5}
        rows = [row | {"response": f"r{n}", "step": step} for step in range(steps) for n in (0, 1)]
        (tmp_path / "runs" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / name / "data.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))

    write("task", 2)
    write("other", 1)

    async with terminal(tmp_path / "runs", tmp_path, clock=SteppedClock()) as me:
        await me.press("1")
        await me.type("task")
        await me.press("enter", "P", "n")
        before = me.shown
        assert before.startswith("train/0/") and "Sample 2 of 2" in me.text
        write("eval_task", 1)
        await me.until(lambda: me.rollouts.live.state and len(me.rollouts.live.state.splits) == 2)
        assert me.shown == before and "Sample 2 of 2" in me.text
        assert "eval/task" in await me.press("2")


async def test_curves_of_several_runs_have_one_chart(tmp_path: Path) -> None:
    rows = chart([[(0, 0.0), (9, 0.0)], [(5, 1.0), (19, 1.0)]], 10, 2)
    assert [cell.curve for cell in rows[0] if cell.dots != "\u2800"] == [1] * 8, "at the top, from step 5 to 19"
    assert [nth for nth, cell in enumerate(rows[1]) if cell.dots != "\u2800"] == [0, 1, 2, 3, 4], "from step 0 to 9"
    high, *_, low = chart([[(step, 100.0 * (step == 700)) for step in range(2000)]], 40, 4)
    assert [nth for nth, cell in enumerate(high) if cell.dots != "\u2800"] == [13], "one value of 100 among zeros"
    assert all(cell.dots != "\u2800" for cell in low)
    for palette in PALETTES.values():
        colours = [palette.colour(name) for name in ("accent", *(f"run-{nth}" for nth in range(2, 2 + OTHERS)))]
        assert len(set(colours)) == 1 + OTHERS, "each run has a colour of its own"

    runs = [write_run(tmp_path / name, {n: [row(0, reward=n)] for n in range(4)}) for name in ("one", "two")]
    write_run(tmp_path / "two", {1: [row(0, reward=-2.0)]})

    async with terminal(runs, tmp_path) as me:
        assert all(one.wait_all(60) for one in me.rollouts.live.library.runs)
        await me.press("m")
        lines = me.app.screen.query_one("#chart", LineBar).lines
        beside = next(line for line in me.lines if "│" not in line and " two " in line)
        assert beside.split()[-3:] == ["step", "3", "3.00"], "the value of the other run"
        dotted = {ink.colour for line in lines for text, ink in line if "\u2800" < max(text, default="") < "\u2900"}
        assert dotted >= {"accent", "run-2"}
        assert "two" in await me.press("escape", "1")
        await me.press("down", "enter")
        assert me.shown == "train/3/0/0" and me.lines[0].split()[0] == "two"


async def test_a_chart_says_which_runs_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "OTHERS", 2)
    runs = [write_run(tmp_path / f"run{n}", {1: [row(0) | ({"style": 0.5} if n != 1 else {})]}) for n in range(5)]

    async with terminal(runs, tmp_path) as me:
        assert all(one.wait_all(60) for one in me.rollouts.live.library.runs)
        assert "2 more runs not in the chart" in await me.press("m") and "without this curve" not in me.text
        nth = next(nth for nth, one in enumerate(me.rows("metrics")) if " style " in one)
        shown = await me.press(*["down"] * nth)
        assert "1 run without this curve, 1 more run not in the chart" in shown and " run2 " in shown


def test_placeholders_are_masked(tmp_path: Path) -> None:
    pad = "<|image_pad|>"
    run = write_run(tmp_path / "run", {0: [row(0, prompt=f"{pad * 4} and {pad}", response=f"x{pad}{pad}y")]})

    one = mask_of("ab+|c")
    texts = ["x", "a", "bb", "y", "cc", "", "zab", "b", "."]
    assert one.tokens(texts) == ["x", "*", "*", "y", "**", "", "z*", "*", "."]
    assert mask_of("").tokens(["a", ""]) == ["a", ""]

    async def scene(me: Driver) -> None:
        shown = me.read + me.text
        assert "*×4 and *" in shown and "x*×2y" in shown and pad not in shown
        await me.press("slash")
        await me.type("and")
        await me.press("enter")
        assert "*×4 and *" in me.text and pad not in me.text, "what a search found is masked as well"

    async def bare(me: Driver) -> None:
        assert pad in me.read + me.text

    play(run, tmp_path, scene, mask=r"<\|image_pad\|>|<\|imgpad\|>")
    play(run, tmp_path, bare)


@pytest.mark.parametrize(
    ("kind", "name", "values", "expected"),
    [
        ("linear", "entropy", [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        ("linear", "logprobs", [-2.0, -1.0, 0.0], [1.0, 0.5, 0.0]),
        ("symmetric", "advantages", [-1.0, 0.0, 2.0], [-0.5, 0.0, 1.0]),
        ("log", "importance_ratio", [0.5, 1.0, 4.0], [-0.5, 0.0, 1.0]),
        ("log", "kl", [0.01, 0.1, 1.0], [0.0, 0.5, 1.0]),
    ],
)
def test_the_strength_of_tints(kind: str, name: str, values: list[float], expected: list[float]) -> None:
    series = np.repeat(values, 200)
    strengths = scale_of(series, kind, name).strengths(np.array([*values, np.nan]))  # type: ignore[pyrefly:bad-argument-type]
    np.testing.assert_allclose(strengths[:-1], expected, atol=0.02)
    assert np.isnan(strengths[-1])
