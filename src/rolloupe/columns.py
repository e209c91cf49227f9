"""The columns of samples: one table that the index, lists, filters, exports, the page and the documents read.

It follows from the fields of `SampleRow`. Sample metrics, tags and derived metrics are columns too; a run brings those.
"""

from typing import Final, get_type_hints

from msgspec import Struct

from rolloupe.model import Column, ColumnGroup, ColumnType, SampleRow


class SampleColumn(Struct, frozen=True, kw_only=True):
    """A column that every sample has, though its value may be missing."""

    name: str
    """What a person calls it."""
    type: ColumnType
    group: ColumnGroup
    column: str
    """Its name in the index."""
    label: str
    """What the page calls it."""
    short: str
    """A short label for narrow places."""
    unit: str
    aliases: tuple[str, ...]
    """What trainers call it, unless a sample metric or a tag of the run has that name."""
    is_filtered: bool
    """A person may filter and sort by it, so that no sample metric or tag may take its name."""
    is_listed: bool
    """`SampleItem` has a field of this name."""
    is_exported: bool
    """Tables and files of samples have it."""
    is_charted: bool
    """The index keeps its moments for each step."""
    is_annotated: bool
    """Annotations may hold a newer value: `Annotation` has a field of that name."""

    @property
    def is_number(self) -> bool:
        """True for numbers."""
        return self.type in ("integer", "short", "number")


def column_of(name: str, note: Column, python_type: object) -> SampleColumn:
    """Return the column of a field of `SampleRow`. Raises `KeyError` for a type that no column has."""
    types: dict[object, ColumnType] = {int: "integer", int | None: "integer", float | None: "number", str: "text"}
    return SampleColumn(
        name=name, type=note.type or types[python_type], group=note.group, column=note.stored or name,
        label=note.label, short=note.short, unit=note.unit, aliases=note.aliases, is_filtered="f" in note.uses,
        is_listed="l" in note.uses, is_exported="e" in note.uses, is_charted="c" in note.uses,
        is_annotated="a" in note.uses,
    )  # fmt: skip


def columns_of_row() -> list[SampleColumn]:
    """Return a column for each field of `SampleRow` that has a `Column`, and one for the file of the row."""
    columns = []
    for name, hint in get_type_hints(SampleRow, include_extras=True).items():
        notes = [note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Column)]
        columns += [column_of(name, note, hint.__origin__) for note in notes]
    start = next(nth for nth, column in enumerate(columns) if column.name == "start")
    columns.insert(start, column_of("source", Column("place", type="word"), str))
    return columns


COLUMNS: Final = tuple(columns_of_row())
"""In the order in which lists and files show them."""

KNOWN: Final = {column.name: column for column in COLUMNS if column.is_filtered}
"""The columns that a person knows. The names of the others are free for sample metrics and tags."""

ALIASES: Final = {alias: column.name for column in COLUMNS for alias in column.aliases}

CHARTED: Final = tuple(column.name for column in COLUMNS if column.is_charted)
EXPORTED: Final = tuple(column.name for column in COLUMNS if column.is_exported)
ANNOTATED: Final = tuple(column.name for column in COLUMNS if column.is_annotated)
