"""Runs in other layouts, and samples as tables.

Asks the same questions as every face, and writes only where the caller says.
"""

from rolloupe.export.convert import Conversion, Selection, check, convert
from rolloupe.export.tables import KINDS, TableColumns, columns_of, csv_lines, rows, written

__all__ = [
    "KINDS",
    "Conversion",
    "Selection",
    "TableColumns",
    "check",
    "columns_of",
    "convert",
    "csv_lines",
    "rows",
    "written",
]
