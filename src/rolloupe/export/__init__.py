"""What is made of runs: other layouts, and tables of samples.

Asks the questions that every face asks, writes where it was told to and nowhere else.
"""

from rolloupe.export.convert import Conversion, Convertible, check, convert
from rolloupe.export.tables import KINDS, TableColumns, columns_of, csv_lines, rows, written

__all__ = [
    "KINDS",
    "Conversion",
    "Convertible",
    "TableColumns",
    "check",
    "columns_of",
    "convert",
    "csv_lines",
    "rows",
    "written",
]  # fmt: skip
