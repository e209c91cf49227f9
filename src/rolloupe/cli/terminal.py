"""The border to the terminal: every text from a run passes `visible` or `visible_line`, and none becomes markup.

In JSON and CSV, numbers that JSON lacks become the strings NaN, Infinity and -Infinity.
"""

import io
import json
import math
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from rolloupe.text.visible import HOSTILE, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rolloupe.query import SampleItem

OK, NOTHING, USAGE, UNREADABLE, INTERRUPTED = 0, 1, 2, 3, 130
"""The exit codes."""

PIPE_WIDTH = 160
"""Columns of tables if the output is not a terminal."""

MIN_WIDE = 20
"""Minimum width of a table's last column, however wide the others are."""

GAP = "  "
_IN_JSON = re.compile(f"[{HOSTILE}]")


def console_of(stream: TextIO) -> "Console":
    """Return a console that prints text as it is: no markup, no highlighting, no emoji codes."""
    from rich.console import Console  # loads slowly

    class PlainConsole(Console):
        """Raises an exception for a broken pipe, where rich would end the process with exit code 1."""

        def on_broken_pipe(self) -> NoReturn:
            """Raise an exception."""
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


def show_line(*pieces: str | tuple[str, str]) -> None:
    """Print texts from a run on one line, each alone or with its style."""
    from rich.text import Text

    texts = [line(piece) if isinstance(piece, str) else line(*piece) for piece in pieces]
    console_of(sys.stdout).print(Text().join(texts), soft_wrap=True)  # a terminal wraps a long line; rich would cut ids


def show_unchecked(rules: Iterable[tuple[str, str]]) -> None:
    """Print the reasons why rules could not be checked, each with the names of its rules."""
    names: dict[str, list[str]] = {}
    for rule, reason in rules:
        names.setdefault(reason, []).append(rule)
    for reason, of_reason in names.items():
        show_line((f"  {', '.join(of_reason)}: {reason}", "dim"))


def show_command(*words: str) -> None:
    """Print a command line that shows more."""
    show_line((f"  {shlex.join(['rolloupe', *words])}", "dim"))


def counted(count: int, noun: str) -> str:
    """Return a number of things: `1 sample`, `2,000 samples`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def without_samples(metrics: int) -> str:
    """Say what a run without samples has."""
    return f"no samples, {counted(metrics, 'metric')} by step" if metrics else "no samples"


def number(value: float | None) -> str:
    """Return a number in readable form; a dash if missing."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.6g}"
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table. The last column is cut to the line; a column of empty texts is left out.

    Numbers are aligned right, and so are the texts of the columns in `right`.
    """
    from rich.cells import cell_len

    by_column = list(zip(*rows, strict=True)) or [()] * len(columns)
    *others, (last, texts) = zip(columns, by_column, strict=True)
    lines = [""] * (1 + len(texts))
    for name, cells in others:
        if cells and all(cell == "" for cell in cells):
            continue
        shown = [visible_line(text_of(cell)) for cell in (name, *cells)]
        widths = [len(cell) if cell.isascii() else cell_len(cell) for cell in shown]
        widest = max(widths)
        is_left = name not in right and any(cell and isinstance(cell, str) for cell in cells)
        for nth, (cell, width) in enumerate(zip(shown, widths, strict=True)):
            blanks = " " * (widest - width)
            lines[nth] += f"{cell}{blanks}{GAP}" if is_left else f"{blanks}{cell}{GAP}"
    console = console_of(sys.stdout)
    room = max(MIN_WIDE, console.width - cell_len(lines[0]))
    for nth, cell in enumerate((last, *texts)):
        end = line(text_of(cell))
        end.truncate(room, overflow="ellipsis")
        if nth:  # without rich, which takes 1 ms for each
            tell_safe(f"{lines[nth]}{end.plain}".rstrip(" "))
        else:
            console.print(line(f"{lines[nth]}{end.plain}", "bold"), soft_wrap=True)


def text_of(cell: object) -> str:
    """Return a cell of a table as text."""
    return number(cell) if cell is None or isinstance(cell, float) else str(cell)


def complain(message: str) -> None:
    """Write a message to standard error."""
    tolerate(sys.stderr)
    sys.stderr.write(visible(message) + "\n")
    sys.stderr.flush()


def tell(text: str) -> None:
    """Write a text to standard output, on one line."""
    tell_safe(visible_line(text))


def tell_safe(text: str) -> None:
    """Write a text to standard output, and a line break; every text from a run in it must be visible, or JSON."""
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


def tell_json(value: Any, *, indent: int | None = None) -> None:
    """Print a value as a JSON document."""
    tell_safe(dumps(value, indent=indent))


def plain(value: Any) -> Any:
    """Return a value with each float that JSON lacks replaced by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def tell_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below a header."""
    from rolloupe.export import csv_lines

    for lines in csv_lines(names, rows):
        table = lines.decode().replace("\r\n", "\n").rstrip("\n")
        tell_safe(visible(table) if sys.stdout.isatty() else table)


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
