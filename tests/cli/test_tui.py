"""`rolloupe tui`, and `rolloupe view --tui`."""

import sys
from pathlib import Path

import pytest

from rolloupe.cli.terminal import NOTHING, UNREADABLE
from rolloupe.tui import start
from tests.cli.support import rolloupe


def test_without_the_extra_a_message_says_what_to_install(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    for done in (rolloupe("tui", run), rolloupe("view", run, "--tui")):
        assert done.code == NOTHING and "pip install 'rolloupe[tui]'" in done.err
        assert "in a clone: pip install '.[tui]'" in done.err


def test_the_options_reach_the_terminal(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[start.RunChoice, str]] = []
    monkeypatch.setattr(start, "show", lambda *how: asked.append(how))
    assert rolloupe("tui", run, "--mask-str", "", "--theme", "light", "--split", "eval/gsm8k").code == 0
    assert rolloupe("view", run, "--tui", "--state-dir", tmp_path, "--reward-key", "acc").code == 0
    (first, theme), (second, _) = asked
    assert first.paths == (str(run),) and (first.mask, theme, first.split) == ("", "light", "eval/gsm8k")
    assert "image_pad" in second.mask and second.state_dir == str(tmp_path)
    assert second.reading.reward_key == "acc"


def test_a_mask_that_cannot_be_read_is_refused(run: Path) -> None:
    done = rolloupe("tui", run, "--mask-str", "(")
    assert done.code == 2 and "missing )" in done.err


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    done = rolloupe("tui", tmp_path / "nowhere/run")
    assert done.code == UNREADABLE and "nowhere/run does not exist" in done.err
    done = rolloupe("tui", tmp_path / "run")
    assert done.code == NOTHING and "run: does not exist yet" in done.err, "nobody waits without a terminal"


def test_the_demo_can_be_seen_in_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[start.RunChoice] = []
    monkeypatch.setattr(start, "show", lambda choice, _: asked.append(choice))
    assert rolloupe("demo", "--tui").code == 0
    assert Path(asked[0].paths[0]).name == "tiny_grpo"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm"}, "sixteen"),
        ({"TERM": "xterm-256color"}, "dark"),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "light"),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, "dark"),
    ],
)
def test_the_colours_are_those_of_the_terminal(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert start.palette_name("auto") == expected
    assert start.palette_name("light") == "light"
