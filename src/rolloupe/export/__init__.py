"""Runs in other layouts, and samples as tables.

Asks the same questions as every face, and writes only where the caller says.
"""

from rolloupe.export.convert import Selection, check, convert
from rolloupe.export.tables import KINDS, columns_of, csv_lines, rows, written
