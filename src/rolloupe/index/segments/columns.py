"""The names of columns in the index, and the columns behind the names that people use.

A sample metric `reward.acc` is the column `m.reward.acc`, a tag `bench` the column `t.bench`. DuckDB ignores case in
column names, and metric names come from hostile files, so every character except `a-z 0-9 . _ - /` and the blank
becomes its UTF-8 bytes in hex between two `~`: injective, and safe regardless of case.
"""

import hashlib
from collections.abc import Collection
from typing import NamedTuple

from rolloupe.derive import METRICS, PREFIX
from rolloupe.model import ALIASES, COLUMNS, KNOWN

MAX_NAME_BYTES = 200

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-/ ")

FIXED = frozenset(column.stored for column in COLUMNS)
"""The columns that every segment has."""

DERIVED_COLUMNS = "d."
"""The prefix of the columns of derived metrics."""

NUMBER = "number"
"""The name of a sample's place in its step, from 0, unless a sample metric or a tag has that name."""

NUMBER_COLUMN = "~number"
"""A column that no segment has. A query that names it numbers the rows."""

STRING_COLUMNS = "~token."
"""The prefix of columns that no segment has: whether a sample has a token with a string."""


class ColumnRef(NamedTuple):
    """The column behind a name: `kind` is `fixed`, `metric`, `tag`, `derived` or `number`, `name` has no prefix."""

    kind: str
    name: str

    @property
    def column(self) -> str:
        """Its column in the index."""
        if self.kind == NUMBER:
            return NUMBER_COLUMN
        if self.kind == "fixed":
            return KNOWN[self.name].stored
        return {"metric": metric_column, "tag": tag_column, "derived": derived_column}[self.kind](self.name)


def _escape(name: str) -> str:
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
        name = f"{name[:40]}... {digest}"
    return "".join(c if c in PLAIN else f"~{c.encode('utf-8', 'replace').hex()}~" for c in name)


def metric_column(name: str) -> str:
    """The column of a sample metric."""
    return f"m.{_escape(name)}"


def tag_column(name: str) -> str:
    """The column of a tag."""
    return f"t.{_escape(name)}"


def derived_column(name: str) -> str:
    """The column of a derived metric."""
    return f"{DERIVED_COLUMNS}{name}"


def token_column(text: str) -> str:
    """The column of the string of a token."""
    return f"{STRING_COLUMNS}{text.encode('utf-8', 'surrogatepass').hex()}"


def token_text(column: str) -> str | None:
    """The string behind such a column; None for another column."""
    digits = column.removeprefix(STRING_COLUMNS)
    return None if digits == column else bytes.fromhex(digits).decode("utf-8", "surrogatepass")


def derived_metric(name: str) -> str:
    """The derived metric behind `derived.NAME`; empty if it does not exist."""
    bare = name.removeprefix(PREFIX)
    return bare if bare != name and bare in METRICS else ""


def is_reserved(name: str) -> bool:
    """True for the name of a different column: a sample metric or tag of that name is called `metric.NAME` or
    `tag.NAME`.
    """
    while (bare := name.removeprefix("metric.").removeprefix("tag.")) != name:
        name = bare
    return name in KNOWN or bool(derived_metric(name))


def resolve(name: str, metrics: Collection[str], tags: Collection[str]) -> ColumnRef | None:
    """The column that `name` means: a fixed column, a derived or sample metric, or a tag; None for an unknown name.

    `metric.NAME` and `tag.NAME` mean the metric and the tag NAME, unless a metric or tag without prefix has that name.
    NAME means `derived.NAME`, unless a metric or tag has that name.
    """
    if name in KNOWN:
        return ColumnRef("fixed", name)
    if derived := derived_metric(name):
        return ColumnRef("derived", derived)
    kinds = (("metric", metrics), ("tag", tags))
    exact = [ColumnRef(kind, name) for kind, names in kinds if name in names]
    prefixed = [
        ColumnRef(kind, name.removeprefix(f"{kind}."))
        for kind, names in kinds
        if name.startswith(f"{kind}.") and name.removeprefix(f"{kind}.") in names
    ]
    matches = [*prefixed, *exact] if is_reserved(name) else [*exact, *prefixed]
    if not matches and name == NUMBER:
        return ColumnRef(NUMBER, NUMBER)
    if not matches and name in ALIASES:
        return ColumnRef("fixed", ALIASES[name])
    if not matches and name in METRICS:
        return ColumnRef("derived", name)
    return matches[0] if matches else None


def sql_type(column: str) -> str:
    """The SQL type of a column that segments may lack; empty for a fixed column."""
    if column == NUMBER_COLUMN:
        return "BIGINT"
    if column.startswith(DERIVED_COLUMNS):
        return "DOUBLE"
    return {"m.": "DOUBLE", "t.": "VARCHAR"}.get(column[:2], "")
