"""The common frame of all commands: their errors, their exit codes, and the examples in their help."""

import contextlib
import difflib
import io
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from rolloupe.cli.terminal import complain
from rolloupe.errors import BadQuery, IncompleteIndex, NotWritable, RolloupeError, SourceChanged, UnreadablePath
from rolloupe.questions import QUESTIONS

ELSEWHERE = "rolloupe.elsewhere"
"""Where a context keeps the command that runs on another machine."""

OK, NOTHING, USAGE, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 130


class Example(NamedTuple):
    """A command line, and its purpose."""

    line: str
    meaning: str


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **named: Any) -> None:
        super().__init__(*args, **named)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep a command for another machine as it is written: its files are there."""
        if any(":" in word for word in args):
            from rolloupe.cli import over_ssh

            ctx.meta[ELSEWHERE] = over_ssh.far_command(self, ctx, args)
            if ctx.meta[ELSEWHERE]:
                return []
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, here or on the machine that its path names."""
        if far := ctx.meta.get(ELSEWHERE):
            from rolloupe.cli import over_ssh

            return over_ssh.run(far)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        del ctx
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write_text(f"{example.meaning}:")
                formatter.write(f"{'':{formatter.current_indent + 2}}{example.line}\n")


class Commands(click.Group):
    """The group of commands: imports the one that runs, and turns every failure into one line and an exit code.

    Commands have a module, or follow from the declaration of a question alone. A path in place of a command means the command `VIEWING` with that path.
    """

    VIEWING = "view"

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.modules: dict[str, str] = {}
        """The module of each command, which has its name: all of them together take longer than most commands do."""

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
            from rolloupe.cli.questions import plain_command

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
        run = super().main
        sys.exit(_ended(lambda: run(args, prog_name, complete_var, standalone_mode=False, **extra)))

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


class ReaderGone(Exception):
    """Raised when the reader of the output has closed it; click would exit with code 1 for a BrokenPipeError."""


def _ended(run: Callable[[], Any]) -> int:
    """Run a command, report its error, and return its exit code."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by the parent process
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
    try:
        code = run()
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):  # `| head` is not a failure; prevents a flush at exit
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        page = io.StringIO()
        error.show(file=page)
        return _fail(page.getvalue().rstrip("\n"), error.exit_code)
    except RolloupeError as error:
        return _fail(f"Error: {error}", exit_code(error))
    except OSError as error:
        return _fail(f"Error: {error}", UNREADABLE)
    return code if isinstance(code, int) else OK


def exit_code(error: RolloupeError) -> int:
    """Return the exit code for an error."""
    if isinstance(error, UnreadablePath | SourceChanged | NotWritable | IncompleteIndex):
        return UNREADABLE
    return USAGE if isinstance(error, BadQuery) else NOTHING


def _fail(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    complain(message)
    return code
