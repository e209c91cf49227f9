"""The border to the terminal: every text from a run passes `visible` or `visible_line`, and none becomes markup.

In JSON and CSV, numbers that JSON lacks become the strings NaN, Infinity and -Infinity.
"""

import io
import json
import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from rolloupe.text.visible import HOSTILE, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rolloupe.query import SampleItem

PIPE_WIDTH = 160
"""Columns of tables if the output is not a terminal."""

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
    from rich.console import Console  # loads slowly

    class PlainConsole(Console):
        """Prints text as it is: no markup, no highlighting, no emoji codes."""

        def on_broken_pipe(self) -> NoReturn:
            """Raise an exception, where rich would end the process with exit code 1."""
            raise BrokenPipeError

    tolerate(stream)
    width = None if stream.isatty() else PIPE_WIDTH
    return PlainConsole(file=stream, markup=False, highlight=False, emoji=False, width=width)


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
    aligned = []
    for name, width, cells in zip(columns[:-1], widths, shown, strict=False):
        blanks = [" " * (width - _width(cell)) for cell in cells]
        pairs = zip(blanks, cells, strict=True) if name in numbers else zip(cells, blanks, strict=True)
        aligned.append(["".join(pair) for pair in pairs])
    last = [line(cell) for cell in shown[-1]]
    for cell in last:
        cell.truncate(room, overflow="ellipsis")
    lines = map((" " * GAP).join, zip(*aligned, [cell.plain for cell in last], strict=True))
    console.print(line(next(lines), "bold"), soft_wrap=True)  # a terminal wraps a long line; rich would cut ids
    for one in lines:  # without rich, which takes 1 ms for each
        tell(one.rstrip(" "))


def _width(cell: str) -> int:
    from rich.cells import cell_len

    return len(cell) if cell.isascii() else cell_len(cell)


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
    if (sys.stdout.encoding or "").lower().startswith("utf"):
        return _IN_JSON.sub(lambda match: _units(match[0]), document)
    return "".join(c if c.isascii() and (c.isprintable() or c == "\n") else _units(c) for c in document)


def _units(character: str) -> str:
    """Return the escape of a character outside ASCII, in UTF-16 as in JSON."""
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[i]:02x}{data[i + 1]:02x}" for i in range(0, len(data), 2))


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Return a JSON document that is safe to print in a terminal."""
    return safe_json(json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent))


def plain(value: Any) -> Any:
    """Return a value with each float that JSON lacks replaced by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def tell_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below a header."""
    from rolloupe.export import csv_lines

    for lines in csv_lines(names, rows):
        table = lines.decode().replace("\r\n", "\n").rstrip("\n")
        tell(visible(table) if sys.stdout.isatty() else table)


FIXED = (
    "id", "run", "split", "step", "group", "index", "reward", "advantage", "status", "discarded",
    "turns", "response_tokens",
)  # fmt: skip
"""The keys of every sample, in order; the tags and sample metrics follow under their own names."""

PREFIX = "metric."
"""Prefix for a sample metric that has the name of a fixed key."""


def sample_record(run_id: str, item: "SampleItem") -> dict[str, Any]:
    """Return a sample of a list as a record."""
    record: dict[str, Any] = {name: run_id if name == "run" else getattr(item, name) for name in FIXED}
    record["discarded"] = item.discarded or None
    record |= item.columns
    for name, value in (*item.tags.items(), *item.metrics.items()):
        bare = name
        while bare.startswith(PREFIX):
            bare = bare.removeprefix(PREFIX)
        record[PREFIX + name if bare in FIXED else name] = value
    return record | {f"derived.{name}": value for name, value in item.derived.items()}
