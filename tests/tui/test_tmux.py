"""The real terminal view in a real tmux of 80 by 24, as over SSH."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

MOST_S = 60
STATE = "#{pane_width}x#{pane_height} " + " ".join(
    f"#{{{one}}}"
    for one in "alternate_on mouse_any_flag cursor_flag keypad_cursor_flag cursor_shape pane_title".split()
)
"""The size, and what may be left behind: a second screen, the mouse, a hidden cursor, other arrows, a title."""

WALK = (
    ("n", "Sample 2 of"), ("P", "step 2 / 3"), ("N", "step 3 / 3"), ("Tab", "Fields"), ("Escape", "assistant"),
    ("t", "KL k3"), ("x", "Mismatch KL"), ("q", "Sample"), ("/marbles Enter", "Search  marbles"),
    ("Down Enter", "match 1 of"), ("Escape", "n/p sample"), ("?", "Keys"), ("Escape", "Sample"),
)  # fmt: skip
"""Keys, and what the screen shows then."""


SCRIPT = """echo "what was there before"
stty -g > before
read -r line
{}
echo ended $?
stty -g > after
read -r line
"""
"""What the pane runs: the view between two lines that wait."""


class Tmux:
    """A tmux of its own that runs a script in one pane."""

    def __init__(self, folder: Path, script: str) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in ("TMUX", "COLUMNS", "LINES")}
        self.environment = {**kept, "TMUX_TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
        self.do("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", str(folder), "sh", "-c", script)

    def do(self, *words: str) -> str:
        """Run a command of tmux; returns what it prints."""
        line = ["tmux", "-u", *words]
        done = subprocess.run(line, env=self.environment, check=True, capture_output=True, text=True, timeout=60)
        return done.stdout

    def press(self, keys: str, shown: str) -> str:
        """Press keys, and wait until the screen shows something; returns the screen."""
        self.do("send-keys", *keys.split())
        return self.until(shown)

    def until(self, shown: str) -> str:
        """Wait until the screen shows something; returns the screen."""
        began = time.monotonic()
        while shown not in (screen := self.do("capture-pane", "-p")):
            assert time.monotonic() - began < MOST_S, screen
            time.sleep(0.05)
        return screen


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_run_is_looked_at_in_tmux(short_grpo: Path, tmp_path: Path) -> None:
    places = ["--index-dir", str(tmp_path / "index"), "--state-dir", str(tmp_path / "state")]
    view = shlex.join([sys.executable, "-m", "rolloupe", "tui", str(short_grpo), *places])
    tmux = Tmux(tmp_path, SCRIPT.format(view))
    try:
        tmux.until("what was there before")
        before = tmux.do("display", "-p", STATE)
        assert before.startswith("80x24 ")
        tmux.press("Enter", "Sample 1 of")
        assert tmux.do("display", "-p", STATE) != before
        for keys, shown in WALK:
            screen = tmux.press(keys, shown)
            assert "what was there before" not in screen
        screen = tmux.press("q", "ended")
        assert screen.split() == "what was there before ended 0".split(), "nothing of the view is left"
        assert tmux.do("display", "-p", STATE) == before
        assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()
    finally:
        tmux.do("kill-server")
