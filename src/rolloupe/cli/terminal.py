"""The border to the terminal: every text from a run passes `visible` or `visible_line`, and none becomes markup."""

import io
import math
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rolloupe.text.visible import HOSTILE, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MIN_WIDE = 20
"""Minimum width of a table's last column, however wide the others are."""

GAP = 2
_IN_JSON = re.compile(f"[{HOSTILE}]")


def output() -> "Console":
    """Return the console of standard output."""
    return _console(sys.stdout)


def errors() -> "Console":
    """Return the console of standard error."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> "Console":
    from rolloupe.cli.console import PlainConsole

    tolerate(stream)
    return PlainConsole(stream)


def tolerate(stream: TextIO) -> None:
    """Make a stream escape characters that its encoding lacks, instead of failing."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def block(text: str, style: str = "") -> "Text":
    """Return a text of any length from a run, with its line breaks."""
    from rich.text import Text

    return Text(visible(text), style=style)


def line(text: str, style: str = "") -> "Text":
    """Return a text from a run on one line: a name, a path, a cell."""
    from rich.text import Text

    return Text(visible_line(text), style=style)


def without_samples(metrics: int) -> str:
    """Say what a run without samples has."""
    return f"no samples, {metrics:,} metric{'' if metrics == 1 else 's'} by step" if metrics else "no samples"


def number(value: float | None) -> str:
    """Return a number in readable form; a dash if missing."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.6g}"
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> None:
    """Print a plain table. `numbers` are aligned right; the last column is cut at the end of the line."""
    console = output()
    shown = [[visible_line(row[place]) for row in (columns, *rows)] for place in range(len(columns))]
    widths = [max(map(_width, cells)) for cells in shown]
    room = max(MIN_WIDE, console.width - sum(width + GAP for width in widths[:-1]))
    aligned = [
        [_aligned(cell, width, is_number=name in numbers) for cell in cells]
        for name, width, cells in zip(columns[:-1], widths, shown, strict=False)
    ]
    lines = map((" " * GAP).join, zip(*aligned, [_cut(cell, room) for cell in shown[-1]], strict=True))
    console.print(line(next(lines), "bold"), soft_wrap=True)  # a terminal wraps a long line; rich would cut ids
    for one in lines:  # without rich, which takes 1 ms for each
        tell(one.rstrip(" "))


def _width(cell: str) -> int:
    from rich.cells import cell_len

    return len(cell) if cell.isascii() else cell_len(cell)


def _aligned(cell: str, width: int, *, is_number: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if is_number else cell + blanks


def _cut(cell: str, room: int) -> str:
    if _width(cell) <= room:
        return cell
    text = line(cell)
    text.truncate(room, overflow="ellipsis")
    return text.plain


def complain(message: str) -> None:
    """Write a message to standard error."""
    tolerate(sys.stderr)
    sys.stderr.write(visible(message) + "\n")
    sys.stderr.flush()


def tell(text: str) -> None:
    """Write a line to standard output; the text must be safe."""
    sys.stdout.write(text + "\n")


def safe_json(document: str) -> str:
    """Return a JSON document with every hostile character escaped, and those that standard output cannot write."""
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return _escaped(document)
    return _IN_JSON.sub(lambda match: _units(match[0]), document)


def _escaped(text: str) -> str:
    return "".join(c if c.isascii() and (c.isprintable() or c == "\n") else _units(c) for c in text)


def _units(character: str) -> str:
    """Return the escape of a character outside ASCII, in UTF-16 as in JSON."""
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[i]:02x}{data[i + 1]:02x}" for i in range(0, len(data), 2))
