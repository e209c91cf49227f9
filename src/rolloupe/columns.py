"""The columns of samples: one table that the index, lists, filters, exports, the page and the documents read.

A new column is one entry here and a field of that name of `SampleRow`. The index stores all entries. Sample metrics,
tags and derived metrics are columns too; a run brings those.
"""

from typing import Final, Literal

from msgspec import Struct

ColumnType = Literal["integer", "short", "number", "text", "word"]
"""Integers of 64 and 32 bits, a float, a text, and a text with few different values."""

ColumnGroup = Literal["identity", "outcome", "size", "context", "text", "place"]


class SampleColumn(Struct, frozen=True, kw_only=True):
    """A column that every sample has, though its value may be missing."""

    name: str
    """What a person calls it."""
    type: ColumnType
    group: ColumnGroup
    stored: str = ""
    """Its name in the index, if that is another: `group` and `index` are words of SQL."""
    label: str = ""
    """What the page calls it."""
    short: str = ""
    """A short label for narrow places."""
    unit: str = ""
    aliases: tuple[str, ...] = ()
    """What trainers call it, unless a sample metric or a tag of the run has that name."""
    is_filtered: bool = False
    """A person may filter and sort by it, so that no sample metric or tag may take its name."""
    is_listed: bool = False
    """`SampleItem` has it."""
    is_exported: bool = False
    """Tables and files of samples have it."""
    is_charted: bool = False
    """The index keeps its moments for each step."""
    is_annotated: bool = False
    """Annotations may hold a newer value: `Annotation` has a field of that name."""

    @property
    def column(self) -> str:
        """Its name in the index."""
        return self.stored or self.name

    @property
    def is_number(self) -> bool:
        """True for numbers."""
        return self.type in ("integer", "short", "number")


def _entry(
    name: str,
    type: ColumnType,
    group: ColumnGroup,
    uses: str,
    stored: str = "",
    label: str = "",
    short: str = "",
    unit: str = "",
    aliases: tuple[str, ...] = (),
) -> SampleColumn:
    """One entry; `uses` has a letter for each: filters, lists, exports, charts, annotations."""
    return SampleColumn(
        name=name, type=type, group=group, stored=stored, label=label, short=short, unit=unit,
        aliases=aliases, is_filtered="f" in uses, is_listed="l" in uses, is_exported="e" in uses,
        is_charted="c" in uses, is_annotated="a" in uses,
    )  # fmt: skip


COLUMNS: Final = (
    _entry("split", "word", "identity", "fle", label="Split"),
    _entry("step", "integer", "identity", "fle", label="Step"),
    _entry("group", "text", "identity", "fle", stored="grp", label="Group"),
    _entry("index", "text", "identity", "fle", stored="idx", label="Index"),
    _entry("uid", "text", "identity", "fle", label="Id"),
    _entry("reward", "number", "outcome", "flec", label="Reward"),
    _entry("advantage", "number", "outcome", "fleca", label="Advantage"),
    _entry("status", "word", "outcome", "fle", label="Status"),
    _entry("turns", "integer", "size", "flec", label="Turns"),
    _entry(
        "prompt_tokens", "integer", "size", "flec", label="Prompt tokens", short="prompt", unit="tokens",
        aliases=("prompt_length", "prompt_token_count"),
    ),
    _entry(
        "response_tokens", "integer", "size", "flec", label="Response tokens", short="tokens", unit="tokens",
        aliases=("length", "response_length", "response_token_count", "completion_tokens"),
    ),
    _entry(
        "total_tokens", "integer", "size", "flec", label="Tokens", short="in all", unit="tokens",
        aliases=("total_length", "total_token_count"),
    ),
    _entry(
        "response_chars", "integer", "size", "flec", label="Characters", short="characters", unit="characters",
    ),
    _entry("env", "word", "context", "fle", label="Environment"),
    _entry("discarded", "word", "outcome", "flea", label="Discarded"),
    _entry("prompt", "text", "text", "le", stored="prompt_preview", label="Prompt"),
    _entry("response", "text", "text", "le", stored="response_preview", label="Response"),
    _entry("response_end", "text", "text", "l"),
    _entry("trace_id", "text", "identity", ""),
    _entry("status_raw", "word", "outcome", ""),
    _entry("prompt_hash", "integer", "identity", ""),
    _entry("launch", "short", "place", ""),
    _entry("ordinal", "integer", "place", ""),
    _entry("source", "word", "place", ""),
    _entry("start", "integer", "place", "", stored="byte_start"),
    _entry("length", "integer", "place", "", stored="byte_length"),
    _entry("part", "text", "place", ""),
)  # fmt: skip
"""In the order in which lists and files show them."""

KNOWN: Final = {column.name: column for column in COLUMNS if column.is_filtered}
"""The columns that a person knows. The names of the others are free for sample metrics and tags."""

ALIASES: Final = {alias: column.name for column in COLUMNS for alias in column.aliases}

CHARTED: Final = tuple(column.name for column in COLUMNS if column.is_charted)
LISTED: Final = tuple(column for column in COLUMNS if column.is_listed)
EXPORTED: Final = tuple(column.name for column in COLUMNS if column.is_exported)
ANNOTATED: Final = tuple(column.name for column in COLUMNS if column.is_annotated)
