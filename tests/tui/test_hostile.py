"""Hostile text in the real terminal: it stays text, in the app and in all that reaches the terminal."""

import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.terminal import Screen
from rich.cells import cell_len

from rolloupe.record import Recorder
from rolloupe.tui.draw.ink import MOST, wrapped
from rolloupe.tui.views.tokens import rows_of, shown_text
from tests.cli.support import row, write_run
from tests.tui.support import terminal

pytestmark = pytest.mark.anyio

EVIL = (
    "\x1b]52;c;ZXZpbA==\x07 \x1b[2J\x1b[31m [/INST]"
    " [link=https://e.vil]x[/link] [@click=app.quit]quit[/] [bold]b[/bold]"
    " nul\0 日本語 👩\u200d👩\u200d👧 e\u0301\u200b\u2028\ufeff"
    " \u202eevil\u202c \x9b31m \x90q\x9c \x7f \r \u2066iso\u2069 :smile: \ud83d lone \ufffe\uffff\U0010ffff"
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run in which everything is hostile: its name, texts, fields, names of metrics, data sets, a broken line."""
    rows = [
        row(n, prompt=EVIL, response=EVIL, status=EVIL, label=EVIL, dataset=EVIL, **{EVIL: EVIL, f"m {EVIL}": 1.5})
        for n in range(3)
    ]
    folder = write_run(tmp_path / "evil \x1b[2J[bold]\u202e", {0: rows, 1: rows})
    write_run(folder, {1: rows}, "eval")
    with (folder / "rollout_result/train/1.jsonl").open("a") as file:
        file.write(json.dumps({"rollout_id": 1})[:-3] + "\n")
    return folder


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A recorded run in which all else is hostile: groups, tags, tokens, their series, and the trainer's metrics."""
    evil = EVIL.replace("\ud83d", "")
    folder = tmp_path / "recorded"
    with Recorder(folder, code=None) as recorder:
        for step in range(2):
            for n in range(2):
                recorder.sample(
                    step=step, group=evil, index=f"{evil}{n}", split=f"eval/{evil}" if step else "train", env=evil,
                    prompt=[{"role": evil, "content": evil}], response=evil, reward=n, discarded=evil if n else "",
                    label=evil, status=evil, uid=f"{evil}{step}{n}", tags={evil: evil}, metrics={evil: 0.5},
                    tokens=[evil, "[/INST]", "\x9b31m"], token_ids=[1, 2, 3],
                    series={"logprobs": [-1.0, -2.0, -3.0], evil: [1.0, 2.0, 3.0]}, extra={evil: {evil: evil}},
                    ref_response=evil,
                )  # fmt: skip
            recorder.metrics(step, {f"{evil}/{evil}": 1.0})
            recorder.step_end(step)
    return folder


KEYS = {
    "hostile": "n s s N P D D question_mark escape y b r 1 escape 2 escape 3 escape 4 escape V V v right escape m down "
    "down escape E enter escape escape ctrl+p escape 2 end enter F escape 5",
    "recorded": "s s V V v escape t x X escape u w escape m end enter 2 end enter s s t escape E enter enter",
}
"""The keys to walk through each run; then `[/INST]` is found, and searched for."""


@pytest.mark.parametrize("run", KEYS)
async def test_no_piece_of_a_screen_is_hostile(run: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(run)

    def check(shown: str) -> None:
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown.replace("\n", ""))
        assert not set("\u202e\u202c\u2066\u2069\u061c\u2028\ufffe\uffff\U0010ffff") & set(shown)

    async with terminal(folder, tmp_path) as me:
        await me.rest()
        for key in KEYS[run].split():
            check(await me.press(key))
        for key in ("f", "slash"):
            await me.press("escape", key)
            await me.type("[/INST]", "enter")
            check(me.text)
            assert "[/INST]" in me.text
            check(await me.press("enter"))
        assert me.app.is_running and "[bold]b[/bold]" in me.text and "␛]52;c;" in me.text


WALK = (
    ("nsk", "Sample 2 of 3"), ("sG", "[bold]b[/bold]"), ("V", "reward of each answer"), ("V", "adv"), ("v", "answers"),
    ("q", "Fields"), ("t", "holds no tokens"), ("q", "Fields"), ("m", "Response tokens"), ("q", "Fields"),
    ("i", "Data quality: "), ("q", "Fields"), ("E", "score"), ("\r", "share correct"),
    ("qq", "Fields"), ("3", "type to narrow"), ("0\r", "step 0 / 1"),
    ("/INST\r", "Enter open "), ("\r", "match 1 of"),
)  # fmt: skip
"""Keys, and words that the screen shows then."""


def test_nothing_hostile_reaches_the_terminal(hostile: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rolloupe", "tui", str(hostile), "--index-dir", str(tmp_path / "index")]
    screen = Screen([*words, "--state-dir", str(tmp_path / "state")])
    try:
        screen.until(lambda text: "Sample 1 of 3" in text and "/ 1" in text)
        for keys, shown in WALK:
            screen.press(keys)
            screen.until(lambda text, shown=shown: shown in text)
        written = screen.written
        screen.press("y")
        screen.until(lambda text: "Sent to the clipboard" in text)
        copied = screen.written[len(written) :]
        screen.press("q")
        assert screen.wait() == 0
    finally:
        screen.close()
    text = written.decode("utf-8", "surrogateescape")
    for evil in (
        "\x1b]52",
        "\x1b[31m",
        "ZXZpbA==\x07",
        "\x9b",
        "\x90",
        "\u202e",
        "\u2066",
        "\udc9b",
        "\x7f",
        "\ufffe",
        "\uffff",
        "\U0010ffff",
    ):
        assert evil not in text, evil
    assert copied.count(b"\x1b]52;c;") == 1, "the id, and nothing else, is copied"


def test_odd_tokens_fill_no_line_without_end() -> None:
    assert max(stop - start for start, stop in rows_of(["\u0301"] * 5000 + [""] * 5000, 40)) == 40
    assert [rows_of(["ab", "x" * 5_000_000, "cd"], 40), len(shown_text("x" * 5_000_000))] == [
        [(0, 1), (1, 2), (2, 3)], 201,
    ]  # fmt: skip


def test_marks_without_a_width_neither_hang_nor_fill_a_line() -> None:
    text = "a" + "\u0301" * 50_000 + " 日本" * 100 + " end"
    lines = list(wrapped(text, 40))
    assert [lines[0][0], lines[-1][1]] == [0, len(text)] and all(a[1] == b[0] for a, b in pairwise(lines))
    assert max(stop - start for start, stop in lines) == MOST * 40
    assert all(cell_len(text[start:stop].rstrip()) <= 40 for start, stop in lines)
