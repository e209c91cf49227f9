"""The server's output. Names of hosts, runs and files are hostile: no control character reaches the terminal."""

import contextlib
import sys
import traceback
from typing import TextIO

from rolloupe.text.visible import visible

MAX_CHARS = 2000


def printable(line: str) -> str:
    """Return a text that is safe in a terminal, and cut if very long."""
    return visible(line if len(line) <= MAX_CHARS else f"{line[:MAX_CHARS]} ... ({len(line)} characters)")


def say(line: str) -> None:
    """Print a line for the person who started the server."""
    _write(sys.stderr, line)


def tell(line: str) -> None:
    """Print a result, such as the address, to standard output, for programs to read."""
    _write(sys.stdout, line)


def _write(stream: TextIO, line: str) -> None:
    encoding = stream.encoding or "utf-8"
    with contextlib.suppress(OSError):  # the reader has closed the stream
        stream.write(printable(line).encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()


def say_failure(what: str, error: BaseException) -> None:
    """Print a defect's traceback."""
    say(f"Defect in {what}:")
    for line in traceback.format_exception(error)[-12:]:
        say(line.rstrip("\n"))
