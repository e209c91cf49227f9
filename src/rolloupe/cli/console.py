"""The console of a stream. Imported late: rich takes its time."""

from typing import IO, NoReturn

from rich.console import Console

PIPE_WIDTH = 160
"""Columns of tables where there is no terminal to ask."""


class PlainConsole(Console):
    """Prints what it is given: no markup, no highlighting, no emoji codes."""

    def __init__(self, stream: IO[str]) -> None:
        width = None if stream.isatty() else PIPE_WIDTH
        super().__init__(file=stream, markup=False, highlight=False, emoji=False, width=width)

    def on_broken_pipe(self) -> NoReturn:
        """Say so, where rich would end the process with exit code 1."""
        raise BrokenPipeError
