"""Results as CSV."""

import sys
from collections.abc import Iterable, Sequence

from rolloupe.cli.terminal import tell
from rolloupe.text.visible import visible


def tell_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below a header."""
    from rolloupe.export import csv_lines

    for lines in csv_lines(names, rows):
        table = lines.decode().replace("\r\n", "\n").rstrip("\n")
        tell(visible(table) if sys.stdout.isatty() else table)
