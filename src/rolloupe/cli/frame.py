"""What all commands share: how they fail, what their exit codes are, and examples at the end of their help."""

import contextlib
import difflib
import io
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from rolloupe.cli.terminal import complain
from rolloupe.errors import BadQuery, IncompleteIndex, NotWritable, RolloupeError, SourceChanged, UnreadablePath

OK, NOTHING, USAGE, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 130


class Example(NamedTuple):
    """A command line, and what it is good for."""

    line: str
    meaning: str


class Command(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **named: Any) -> None:
        super().__init__(*args, **named)
        self.examples = tuple(examples)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        del ctx
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write_text(f"{example.meaning}:")
                formatter.write(f"{'':{formatter.current_indent + 2}}{example.line}\n")


class Commands(click.Group):
    """The group of commands: turns every failure into one line and an exit code.

    The name of a path in the place of a command stands for `VIEWING` that path.
    """

    VIEWING = "view"

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
        """The command that the first word names, and its arguments. A usage error where it names none and no path."""
        word = args[0]
        if self.get_command(ctx, word) is not None or word.startswith("-"):
            return super().resolve_command(ctx, args)
        if not _is_path(word):
            raise click.UsageError(_no_command(word, args[1:], self.list_commands(ctx)), ctx)
        return self.VIEWING, self.get_command(ctx, self.VIEWING), args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


class ReaderGone(Exception):
    """Raised when whoever read the output has had enough; click would make exit code 1 of a BrokenPipeError."""


def _is_path(word: str) -> bool:
    """True for a path that exists, and for what can be nothing but a path."""
    return os.sep in word or os.path.lexists(word)


def _no_command(word: str, rest: Sequence[str], names: Sequence[str]) -> str:
    close = difflib.get_close_matches(word.lower(), names, 1)
    line = shlex.join([close[0], *rest]) if close else "--help"
    return f"{word!r} is no command, and no path of that name exists. Next: rolloupe {line}"


def _ended(run: Callable[[], Any]) -> int:
    """The exit code of a command, once it has run and said what went wrong."""
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:  # closed by whoever started this
            setattr(sys, stream, open(os.devnull, "w"))  # noqa: SIM115
    try:
        code = run()
        sys.stdout.flush()
    except (BrokenPipeError, ReaderGone):
        return _reader_gone()
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        return _fail(_shown(error), error.exit_code)
    except RolloupeError as error:
        return _fail(f"Error: {error}", exit_code(error))
    except OSError as error:
        return _fail(f"Error: {error}", UNREADABLE)
    return code if isinstance(code, int) else OK


def exit_code(error: RolloupeError) -> int:
    """The exit code that an error ends a command with."""
    if isinstance(error, UnreadablePath | SourceChanged | NotWritable | IncompleteIndex):
        return UNREADABLE
    return USAGE if isinstance(error, BadQuery) else NOTHING


def _shown(error: click.ClickException) -> str:
    page = io.StringIO()
    error.show(file=page)
    return page.getvalue().rstrip("\n")


def _fail(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    complain(message)
    return code


def _reader_gone() -> int:
    """Whoever read the output has had enough (`| head`): that is no failure. Nothing may be flushed at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK
