"""However the terminal view ends, the person's terminal is as it was."""

import os
import re
import signal
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.terminal import Screen

from rolloupe.cli.terminal import NOTHING
from rolloupe.demo import RUNS
from tests.cli.support import rolloupe, row, write_run
from tests.thoroughness import slow_unless

MOST_MB = 250

LEFT = b"\x1b[?1049l"
"""The end of the second screen."""


def walk(screen: Screen) -> None:
    """Press Esc and a letter together, look at curves, for which more is imported, then quit over a list."""
    screen.press("?")
    screen.until(lambda text: "Line up" in text)
    screen.press("\x1bP")
    screen.until(lambda text: "step 0 / 1" in text and "Line up" not in text)
    screen.press("m")
    screen.until(lambda text: "Esc back" in text and "step 0" in text)
    screen.press("\x1b")
    screen.until(lambda text: "Sample 1 of" in text)
    screen.press("4")
    screen.until(lambda text: "as recorded" in text)
    screen.press("\x03")


def suspend(screen: Screen) -> None:
    """Give the shell the terminal for a while, then end by a signal."""
    screen.press("\x1a")
    while os.waitpid(screen.pid, os.WUNTRACED | os.WNOHANG)[0] == 0:
        screen.read(0.02)
    while screen.read(0.02):
        pass
    assert LEFT in screen.written
    os.kill(screen.pid, signal.SIGCONT)
    screen.press("n")
    screen.until(lambda text: "Sample 2 of 3" in text)
    os.kill(screen.pid, signal.SIGTERM)


@pytest.mark.parametrize(
    ("leave", "code"),
    [
        slow_unless(True, walk, 0),
        slow_unless(True, suspend, -signal.SIGTERM),
        slow_unless(False, lambda screen: os.kill(screen.pid, signal.SIGHUP), -signal.SIGHUP),
        slow_unless(False, lambda screen: screen.press("q"), 0),
    ],
    ids=["Ctrl-C", "SIGTERM", "SIGHUP", "q"],
)
def test_the_terminal_is_given_back(leave: Callable[[Screen], None], code: int, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {step: [row(n) for n in range(3)] for step in range(2)})
    places = ["--index-dir", str(tmp_path / "index"), "--state-dir", str(tmp_path / "state")]
    screen = Screen([sys.executable, "-m", "rolloupe", "tui", str(run), *places])
    before = termios.tcgetattr(screen.descriptor)
    try:
        screen.until(lambda text: "Sample 1 of 3" in text and "step 1 / 1" in text)
        leave(screen)
        assert screen.wait() == code
        while screen.read(0.02):
            pass
        assert termios.tcgetattr(screen.descriptor) == before
    finally:
        screen.close()
    on, off = (screen.written.rfind(word) for word in (b"\x1b[?1000h", b"\x1b[?1000l"))
    assert LEFT in screen.written and on < off, "the first screen, and no more reports of the mouse"
    rest = screen.written.rpartition(LEFT)[2]
    assert re.sub(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\s", b"", rest) == b"", "nothing is printed afterwards"


@pytest.mark.slow  # its peak follows how the machine shares its cores: 209 MB, and 231 with a search, beside others
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_process_stays_small(tmp_path: Path) -> None:
    places = ["--index-dir", str(tmp_path / "index"), "--state-dir", str(tmp_path / "state")]
    screen = Screen([sys.executable, "-m", "rolloupe", "tui", str(RUNS / "tiny_grpo"), *places])
    try:
        screen.until(lambda text: "Sample 1 of" in text and "step 89 / 89" in text)
        screen.press("t")
        screen.until(lambda text: "next series" in text)
        screen.press("t")
        screen.until(lambda text: "Sample 1 of" in text)
        screen.press("/answer\r")
        screen.until(lambda text: re.search(r"[1-9][\d,]* samples(?!  searched)", text))
        assert screen.memory_mb() < MOST_MB
    finally:
        screen.close()


def test_without_a_keyboard_a_message_says_what_to_do(tmp_path: Path) -> None:
    done = rolloupe("tui", write_run(tmp_path / "run", {0: [row(0)]}), "--index-dir", tmp_path / "index")
    assert done.code == NOTHING and "rolloupe show" in done.err
