"""Command lines run in this process and in one of their own, and a run full of hostile text."""

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from click.testing import CliRunner

from rolloupe.cli import main
from tests.forks import Fork

HOSTILE = "\x1b]0;owned\x07\x1b[2J [/INST] [bold]x[/bold] \u202eevil\u202c \x9b31m \x7f \r :smile:"
"""What must not reach a terminal: ESC, BEL, C1, DEL, bidi controls; and what must not be taken for markup."""

FORBIDDEN = "\x1b\x07\x9b\x7f\r\u202e\u202c"


class Done(NamedTuple):
    """What a command line printed and ended with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, read as JSON that has no NaN."""
        return strict(self.out)

    @property
    def lines(self) -> list[Any]:
        """Standard output, one JSON object a line."""
        return [strict(line) for line in self.out.splitlines()]


def strict(document: str) -> Any:
    """Read JSON; NaN and Infinity are errors."""
    return json.loads(document, parse_constant=lambda word: (_ for _ in ()).throw(ValueError(word)))


def rolloupe(*words: str | Path) -> Done:
    """Run a command line in this process."""
    done = CliRunner().invoke(main, [str(word) for word in words], prog_name="rolloupe")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    return Done(done.exit_code, done.stdout, done.stderr)


def command(*words: str | Path) -> list[str]:
    """The command line for a process of its own; warnings are errors there, too."""
    return [sys.executable, "-W", "error", "-m", "rolloupe", *map(str, words)]


def on_terminal(*words: str | Path, term: str = "dumb", function: str = "tests.cli.support:main_of") -> tuple[int, str]:
    """Run a command line on a terminal; returns its exit code and all that it wrote there."""
    outer, inner = pty.openpty()
    with mock.patch.dict(os.environ, COLUMNS="100", TERM=term, NO_COLOR="1"):
        process = Fork(function, *map(str, words), terminal=inner)
    os.close(inner)
    written = b""
    while block := _read(outer):
        written += block
    os.close(outer)
    code = process.wait()
    process.close()
    return code, written.decode().replace("\r\n", "\n")


def main_of(*words: str) -> None:
    """Be the command line."""
    main(list(words), prog_name="rolloupe")


def forked(*words: str | Path) -> Fork:
    """A command line in a process of its own, which begins with all imported."""
    return Fork("tests.cli.support:main_of", *map(str, words))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so where the other end is closed
        return b""


def row(index: int, **more: Any) -> dict[str, Any]:
    """One sample in Relax's keys."""
    return {
        "rollout_id": 0, "sample_index": index, "prompt": f"Question {index // 2}?", "response": f"Answer {index}",
        "reward": float(index), "response_length": 10 * index, "status": "completed", "group_index": index // 2, **more,
    }  # fmt: skip


def write_run(folder: Path, steps: dict[int, list[dict[str, Any]]], split: str = "train") -> Path:
    """Write a run in Relax's layout; returns its folder."""
    place = folder / "rollout_result" / split
    place.mkdir(parents=True, exist_ok=True)
    for step, rows in steps.items():
        (place / f"{step}.jsonl").write_text("".join(json.dumps(r | {"rollout_id": step}) + "\n" for r in rows))
    return folder
