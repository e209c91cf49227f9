"""The common frame of all commands: their errors, their exit codes, and the examples in their help."""

import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from rolloupe.cli.terminal import INTERRUPTED, NOTHING, OK, UNREADABLE, USAGE, complain
from rolloupe.errors import BadQuery, IncompleteIndex, NotWritable, RolloupeError, SourceChanged, UnreadablePath

ELSEWHERE = "rolloupe.elsewhere"
"""The key of a context for the command that runs on another machine."""


class Example(NamedTuple):
    """A command line, and its purpose."""

    line: str
    meaning: str


CONTINUED = re.compile(r"\s*\\\n\s*")
"""A line that goes on in the next one."""


class Command(click.Command):
    """A command whose help ends with examples: lines below `Examples:`, each with its purpose after a `#`.

    With `only_here`, paths never name another machine.
    """

    def __init__(self, name: str, *, help: str, only_here: bool = False, **named: Any) -> None:
        text, _, examples = inspect.cleandoc(help).partition("\n\nExamples:\n")
        super().__init__(name, help=text, **named)
        self.only_here = only_here
        lines = CONTINUED.sub(" ", examples).splitlines()
        self.examples = [Example(*map(str.strip, line.rsplit(" # ", 1))) for line in lines]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep a command for another machine as it is written: its files are there."""
        if not self.only_here and any(":" in word for word in args):
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


class ReaderGone(Exception):
    """Raised when the reader of the output has closed it; click would exit with code 1 for a BrokenPipeError."""


def run_and_report(run: Callable[[], Any]) -> int:
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
