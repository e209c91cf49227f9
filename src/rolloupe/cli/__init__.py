"""The command line: `rolloupe COMMAND`. Each module of `cli/commands`, and of its folders, holds the command of its
name; commands print what `rolloupe.api` returns.

It imports nothing heavy before a command runs, so that `--help` answers at once.
"""

import atexit
import difflib
import gc
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import click

from rolloupe._version import __version__
from rolloupe.cli import commands
from rolloupe.cli.frame import ReaderGone, run_and_report
from rolloupe.questions import QUESTIONS

__all__ = ["main"]

NEW_OBJECTS = 100_000
"""The collector looks for garbage after this many new objects: a start makes several hundred thousand, most of
which stay, and to look after every 700, as by default, takes a tenth of the time of a short command.
"""


class Commands(click.Group):
    """The group of commands: imports the one that runs, and turns every failure into one line and an exit code.

    Commands have a module, or follow from the declaration of a question alone. A path in place of a command means the
    command `VIEWING` with that path.
    """

    VIEWING = "view"

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.modules: dict[str, str] = {}
        """The module of each command, by its name: importing all modules takes longer than most commands do."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return sorted({*self.modules, *(question.name for question in QUESTIONS.values() if question.rows)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        del ctx
        if cmd_name in self.modules:
            command: click.Command = getattr(import_module(self.modules[cmd_name]), cmd_name)
            return command
        if cmd_name in QUESTIONS and QUESTIONS[cmd_name].rows:
            from rolloupe.cli.runs import plain_command

            return plain_command(cmd_name)
        return None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and end the process with its exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        gc.set_threshold(NEW_OBJECTS)
        atexit.register(gc.freeze)  # the interpreter would visit every object twice before it ends
        run = super().main
        sys.exit(run_and_report(lambda: run(args, prog_name, complete_var, standalone_mode=False, **extra)))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, and its arguments. A usage error if it names neither."""
        word = args[0]
        if self.get_command(ctx, word) is not None or word.startswith("-"):
            return super().resolve_command(ctx, args)
        if not (os.sep in word or ":" in word or os.path.lexists(word)):
            close = difflib.get_close_matches(word.lower(), self.list_commands(ctx), 1)
            line = shlex.join([close[0], *args[1:]]) if close else "--help"
            message = f"{word!r} is not a command, and no such path exists. Next: rolloupe {line}"
            raise click.UsageError(message, ctx)
        return self.VIEWING, self.get_command(ctx, self.VIEWING), args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Read what the model wrote, from the files that the trainer writes.

    PATH is one or more folders or files; a folder may hold many runs. Rolloupe reads files where they are and never
    changes them. The index is in your cache directory; you can delete it at any time. Without a COMMAND,
    `rolloupe PATH` is `rolloupe view PATH`; write ./PATH if a path has the name of a command.

    PATH may be on another machine: HOST:PATH or USER@HOST:PATH. The command then runs there, over SSH, where Rolloupe
    must be installed, and answers here; ROLLOUPE_REMOTE_COMMAND names it there if it is not found.

    Exit codes: 0 done, 1 nothing matched, 2 the command line cannot be understood, 3 a path cannot be read or written,
    or parts of the index are missing, so that the answer may be incomplete. Standard error explains, and says what to
    do next.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the products are small: threads would wait for each other


main.modules.update(
    (module.name.rpartition(".")[2], module.name)
    for module in walk_packages(commands.__path__, f"{commands.__name__}.")
    if not module.ispkg
)
