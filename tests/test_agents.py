"""docs/agents.md: every command and every piece of Python on it runs, and gives what it says."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.support import rolloupe

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/agents.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("rolloupe ")
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if line
]
INLINE = re.findall(r"`rolloupe ([^`|]*?)(?: \| [^`]*)?`", PAGE)


@pytest.fixture
def run(demo_runs: Path) -> Path:
    return demo_runs / "other_formats/relax"


def words_of(run: Path) -> dict[str, str]:
    """What stands for the capital words of a command."""
    last = rolloupe("query", run, "--split", "train", "--step", "2", "--limit", "1", "--json").lines[0]
    return {"RUN_DIR": str(run), "ID": last["id"], "LAST": "2", "GROUP": last["group"]}


def test_every_command_runs(run: Path, short_grpo: Path) -> None:
    with_texts, with_tokens = words_of(run), words_of(short_grpo)
    for command in {*COMMANDS, *INLINE}:
        known = with_tokens if command.startswith("tokens") else with_texts
        check_command(command, [known.get(word, word) for word in shlex.split(command)])


def check_command(command: str, words: list[str]) -> None:
    """Run a command, and look at what it prints."""
    done = rolloupe(*words)
    assert done.code in ((0, 1) if "truncated" in command else (0,)), (command, done.err)
    if "query" in command or "search" in command:
        assert all(set(line) >= {"id", "run", "split", "step", "reward", "advantage"} for line in done.lines), command
    elif command.startswith("steps"):
        assert [line["step"] for line in done.lines] == [0, 1, 2], command
    elif command.startswith("tokens"):
        assert all(set(line) >= {"position", "id", "text", "role", "mask", "logprobs"} for line in done.lines)
    elif command.startswith("findings"):  # too few samples for any
        assert done.lines == [] and "Nothing to compare" in done.err
    elif "--json" in command:
        assert done.json, command
    else:
        assert json.loads(done.out), command


def test_the_fields_that_are_named_are_there(run: Path) -> None:
    (listed,) = rolloupe("ls", run, "--json").json
    assert {"id", "path", "format", "problems", "splits"} <= set(listed)
    assert set(listed["splits"]["train"]) == {
        "steps", "groups", "samples", "discarded", "reward_mean", "reward_min", "reward_max",
    }  # fmt: skip
    first = rolloupe("query", run, "--limit", "1", "--json").lines[0]
    assert set(rolloupe("steps", run, "--json").lines[0]) == {
        "run", "split", "step", "samples", "discarded", "reward_mean", "reward_std", "without_reward", "state",
    }  # fmt: skip
    shown = rolloupe("show", run, first["id"], "--json").json
    assert {"turns", "label", "ref_turns", "series", "row", "extra", "notes"} <= set(shown)


def test_the_python_runs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code.replace("RUN_DIR", str(run)))
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith(" 0.0") and [line.split()[0] for line in printed[-3:]] == ["0", "1", "2"]


def test_the_exit_codes(run: Path, tmp_path: Path) -> None:
    assert rolloupe("query", run, "--where", "reward > 99").code == 1
    assert rolloupe("query", run, "--sort", "nothing").code == 2
    assert rolloupe("ls", tmp_path / "missing").code == 3
