"""The border to the terminal: every text from a run passes `visible` or `visible_line` here, and none is markup."""

import math
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rolloupe.text.visible import HOSTILE, visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

PIPE_WIDTH = 160
"""Columns of tables where there is no terminal to ask."""

_IN_JSON = re.compile(f"[{HOSTILE}]")


def output() -> "Console":
    """The console of standard output."""
    return _console(sys.stdout)


def errors() -> "Console":
    """The console of standard error."""
    return _console(sys.stderr)


def _console(stream: Any) -> "Console":
    from rich.console import Console

    tolerate(stream)
    return Console(
        file=stream,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=False,
        width=None if stream.isatty() else PIPE_WIDTH,
    )


def tolerate(stream: Any) -> None:
    """Have a stream write what its encoding lacks as an escape instead of failing."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def block(text: str, style: str = "") -> "Text":
    """A text of any length from a run, its lines kept."""
    from rich.text import Text

    return Text(visible(text), style=style)


def line(text: str, style: str = "") -> "Text":
    """A text from a run on one line: a name, a path, a cell."""
    from rich.text import Text

    return Text(visible_line(text), style=style)


def number(value: float | None) -> str:
    """A number as a person reads it; what is not recorded is a dash."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.6g}"
    return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"


def table(*columns: str, numbers: Sequence[str] = (), wide: str = "") -> "Table":
    """A plain table. `numbers` stand to the right; `wide` is cut at the end of the line instead of folded."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name in columns:
        made.add_column(
            line(name),
            justify="right" if name in numbers else "left",
            no_wrap=name in numbers or name == wide,
            overflow="ellipsis" if name == wide else "fold",
        )
    return made


def complain(message: str) -> None:
    """Write a message to standard error."""
    tolerate(sys.stderr)
    sys.stderr.write(visible(message) + "\n")
    sys.stderr.flush()


def tell(text: str) -> None:
    """Write a line to standard output that is safe as it is."""
    sys.stdout.write(text + "\n")


def safe_json(document: str) -> str:
    """A JSON document with every hostile character escaped, and all that standard output cannot write."""
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        return _escaped(document)
    return _IN_JSON.sub(lambda match: _units(match[0]), document)


def _escaped(text: str) -> str:
    return "".join(c if c.isascii() and (c.isprintable() or c == "\n") else _units(c) for c in text)


def _units(character: str) -> str:
    """The escape of a character outside ASCII, in UTF-16 as JSON has it."""
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[i]:02x}{data[i + 1]:02x}" for i in range(0, len(data), 2))
