"""Hostile text in the real terminal: it stays text, in the app and in all that reaches the terminal."""

import asyncio
import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from benchmarks.terminal import Screen
from rich.cells import cell_len

from rolloupe.tui.draw.wrap import MOST, wrapped
from rolloupe.tui.views.tokens import rows_of, shown_text
from tests.cli.support import row, write_run
from tests.tui.support import terminal

EVIL = (
    "\x1b]52;c;ZXZpbA==\x07 \x1b[2J\x1b[31m [/INST]"
    " [link=https://e.vil]x[/link] [@click=app.quit]quit[/] [bold]b[/bold]"
    " \u202eevil\u202c \x9b31m \x90q\x9c \x7f \r \u2066iso\u2069 :smile: \ud83d lone"
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run in which everything is hostile: its name, texts, fields, names of metrics, data sets."""
    rows = [
        row(n, prompt=EVIL, response=EVIL, status=EVIL, label=EVIL, dataset=EVIL, **{EVIL: EVIL, f"m {EVIL}": 1.5})
        for n in range(3)
    ]
    folder = write_run(tmp_path / "evil \x1b[2J[bold]\u202e", {0: rows, 1: rows})
    write_run(folder, {1: rows}, "eval")
    with (folder / "rollout_result/train/1.jsonl").open("a") as file:
        file.write(json.dumps({"rollout_id": 1})[:-3] + "\n")
    return folder


KEYS = (
    "n s s N P f escape slash escape D D question_mark escape y b r 1 escape 2 escape 4 escape",
    "v right escape t escape m down escape E enter escape escape 5",
)


def test_no_piece_of_a_screen_is_hostile(hostile: Path, tmp_path: Path) -> None:
    async def scene() -> None:
        async with terminal(hostile, tmp_path) as me:
            for key in " ".join(KEYS).split():
                shown = await me.press(key)
                assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in shown.replace("\n", ""))
                assert not set("\u202e\u202c\u2066\u2069\u061c") & set(shown)
            assert me.app.is_running and "[bold]b[/bold]" in me.text and "␛]52;c;" in me.text

    asyncio.run(scene())


def test_nothing_hostile_reaches_the_terminal(hostile: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "rolloupe", "tui", str(hostile), "--index-dir", str(tmp_path / "index")]
    screen = Screen([*words, "--state-dir", str(tmp_path / "state")])
    try:
        screen.until(lambda text: "Sample 1 of 3" in text)
        screen.press("nsk")
        screen.until(lambda text: "Sample 2 of 3" in text and "group_index" in text)
        screen.press("sG")
        screen.until(lambda text: "[bold]b[/bold]" in text)
        written = screen.written
        screen.press("y")
        screen.until(lambda text: "Copied" in text)
        copied = screen.written[len(written) :]
        screen.press("q")
        assert screen.wait() == 0
    finally:
        screen.close()
    text = written.decode("utf-8", "surrogateescape")
    for evil in ("\x1b]52", "\x1b[31m", "ZXZpbA==\x07", "\x9b", "\x90", "\u202e", "\u2066", "\udc9b", "\x7f"):
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
