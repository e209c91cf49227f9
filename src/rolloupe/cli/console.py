"""The console of a stream. Imported late, because rich loads slowly."""

from typing import IO, NoReturn

from rich.console import Console

PIPE_WIDTH = 160
"""Columns of tables if the output is not a terminal."""


class PlainConsole(Console):
    """Prints text as it is: no markup, no highlighting, no emoji codes."""

    def __init__(self, stream: IO[str]) -> None:
        width = None if stream.isatty() else PIPE_WIDTH
        super().__init__(file=stream, markup=False, highlight=False, emoji=False, width=width)

    def on_broken_pipe(self) -> NoReturn:
        """Raise an exception, where rich would end the process with exit code 1."""
        raise BrokenPipeError
