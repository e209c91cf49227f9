"""Runs in other layouts, and samples as tables.

Asks the same questions as every face, and writes only where the caller says.
"""

from rolloupe.export.convert import Selection as Selection
from rolloupe.export.convert import check as check
from rolloupe.export.convert import convert as convert
from rolloupe.export.tables import KINDS as KINDS
from rolloupe.export.tables import columns_of as columns_of
from rolloupe.export.tables import csv_lines as csv_lines
from rolloupe.export.tables import rows as rows
from rolloupe.export.tables import written as written
