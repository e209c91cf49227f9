"""The columns of samples: one table that the index, lists, filters, exports, the page and the documents read.

It follows from the fields of `SampleRow`. Sample metrics, tags and derived metrics are columns too; a run brings those.
"""

from collections.abc import Iterator
from typing import Final, get_type_hints

from rolloupe.model import Column, ColumnType, SampleRow

_TYPES: dict[object, ColumnType] = {int: "integer", int | None: "integer", float | None: "number", str: "text"}


def _columns_of_row() -> Iterator[Column]:
    """Yield a column for each field of `SampleRow` that has a `Column`, and one for the file of the row."""
    for name, hint in get_type_hints(SampleRow, include_extras=True).items():
        if name == "start":
            yield Column("place", type="word", name="source", stored="source")
        for note in getattr(hint, "__metadata__", ()):
            yield note._replace(name=name, stored=note.stored or name, type=note.type or _TYPES[hint.__origin__])


COLUMNS: Final = tuple(_columns_of_row())
"""In the order in which lists and files show them."""

KNOWN: Final = {column.name: column for column in COLUMNS if "f" in column.uses}
"""The columns that a person knows. The names of the others are free for sample metrics and tags."""

ALIASES: Final = {alias: column.name for column in COLUMNS for alias in column.aliases}

LISTED: Final = {column.name: column for column in COLUMNS if "l" in column.uses}
EXPORTED: Final = {column.name: column for column in COLUMNS if "e" in column.uses}
CHARTED: Final = tuple(column.name for column in COLUMNS if "c" in column.uses)
ANNOTATED: Final = tuple(column.name for column in COLUMNS if "a" in column.uses)

JUDGEMENT: Final = "judgement"
"""The column of a person's judgements."""

OWN_JUDGEMENT: Final = "my_judgement"
"""The same column for a run that has a `judgement` of its own."""
