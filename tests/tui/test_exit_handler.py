"""A signal ends the terminal view in some seconds, though its loop hangs or nobody reads what it writes."""

import contextlib
import os
import signal
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.terminal import Screen

from tests.cli.support import row, write_run
from tests.thoroughness import slow_unless

HANG = (
    "import os, pathlib, sys, time; from rolloupe.cli import main; from rolloupe.tui import start;"
    "from rolloupe.tui.screens.rollouts import Rollouts;"
    "start.DEADLINE_S, note = 0.3, pathlib.Path(sys.argv.pop(1)); note.write_text(str(os.getpid()));"
    "Rollouts.action_theme = lambda self: (note.unlink(), time.sleep(600)); sys.exit(main())"
)
"""The terminal view, in which `T` removes the note of its process and hangs."""
SHELL = '"$@"; echo ended $?'
MOST_S = 60.0


def started(tmp_path: Path) -> tuple[Screen, int]:
    """A terminal view that shows a sample, under a shell, and its process."""
    run = write_run(tmp_path / "run", {0: [row(n) for n in range(3)]})
    places = ["--index-dir", str(tmp_path / "index"), "--state-dir", str(tmp_path / "state")]
    view = [sys.executable, "-c", HANG, str(tmp_path / "pid"), "tui", str(run), *places]
    screen = Screen(["/bin/sh", "-c", SHELL, "sh", *view])
    screen.until(lambda text: "Sample 1 of 3" in text and "/ 0" in text)
    return screen, int((tmp_path / "pid").read_text())


def hang(screen: Screen, note: Path) -> None:
    """Hang in the loop."""
    screen.press("T")
    screen.until(lambda _: not note.exists())


def deafen(screen: Screen, note: Path) -> None:
    """Read nothing of all that is written."""
    os.set_blocking(screen.descriptor, False)
    for _ in range(60):
        with contextlib.suppress(BlockingIOError):
            screen.press("np?\x1b")
        time.sleep(0.05)
    os.set_blocking(screen.descriptor, True)


def wait(process: int) -> None:
    """Wait, without reading, until the process ends."""
    began = time.monotonic()
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() - began < MOST_S:
            os.kill(process, 0)
            time.sleep(0.05)
        raise TimeoutError("the process goes on")


@pytest.mark.parametrize(
    ("bar", "by"),
    [
        slow_unless(True, hang, signal.SIGTERM),
        slow_unless(False, hang, signal.SIGHUP),
        slow_unless(False, deafen, signal.SIGTERM),
    ],
    ids=["hang-SIGTERM", "hang-SIGHUP", "unread-SIGTERM"],
)
def test_a_signal_ends_the_process_and_gives_the_terminal_back(
    bar: Callable[[Screen, Path], None], by: signal.Signals, tmp_path: Path
) -> None:
    screen, process = started(tmp_path)
    try:
        raw = termios.tcgetattr(screen.descriptor)
        bar(screen, tmp_path / "pid")
        os.kill(process, by)
        wait(process)
        assert not raw[3] & termios.ECHO and termios.tcgetattr(screen.descriptor)[3] & termios.ECHO
        screen.until(lambda _: f"ended {128 + by}".encode() in screen.written)  # wherever the cursor is
        assert b"\x1b[?1049l\x1b[?25h" in screen.written
    finally:
        screen.close()


@pytest.mark.parametrize("bar", [slow_unless(True, hang), slow_unless(False, lambda *_: None)], ids=["hang", "none"])
def test_a_closed_terminal_ends_the_process(bar: Callable[[Screen, Path], None], tmp_path: Path) -> None:
    screen, process = started(tmp_path)
    bar(screen, tmp_path / "pid")
    os.close(screen.descriptor)
    wait(process)
    os.waitpid(screen.pid, 0)
