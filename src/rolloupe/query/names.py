"""What the names in a query mean: columns of the index, in SQL, and whether they hold numbers."""

import difflib

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot, column_of
from rolloupe.index.columns import NUMERIC, kind_of
from rolloupe.query.rows import quote

NUMBERS = frozenset(["step", *NUMERIC])
WORDS = ("status", "env", "uid", "discarded", "group", "index", "split")
"""The fixed columns that are text and say something to a person."""


def column(snapshot: Snapshot, name: str) -> str:
    """The column of that name, in SQL. Raises `BadQuery`, naming those there are."""
    found = column_of(name, snapshot.metrics, snapshot.tags)
    if found is None:
        raise BadQuery(f"no column {name!r}; {_known(snapshot, name)}", column=name)
    return quote(found)


def has_column(run: OpenRun, name: str) -> bool:
    """True where the run has a column of that name."""
    snapshot = run.snapshot()
    return column_of(name, snapshot.metrics, snapshot.tags) is not None


def is_number(snapshot: Snapshot, name: str) -> bool:
    """True for a column of numbers; False for text, and where there is none such."""
    return name in NUMBERS or kind_of(column_of(name, snapshot.metrics, snapshot.tags) or "") == "DOUBLE"


def is_real(snapshot: Snapshot, name: str) -> bool:
    """True for numbers that need not be finite."""
    found = column_of(name, snapshot.metrics, snapshot.tags) or ""
    return found in ("reward", "advantage") or kind_of(found) == "DOUBLE"


def _known(snapshot: Snapshot, name: str) -> str:
    """The columns there are, the one that was perhaps meant first."""
    known = ["split", "step", "group", "index", *NUMERIC, "status", "env", "uid", "discarded"]
    known += [*snapshot.metrics, *snapshot.tags]
    meant = difflib.get_close_matches(name, known, n=1)
    hint = f"is it {meant[0]!r}? " if meant else ""
    return f"{hint}there are: {', '.join(known[:60])}{', ...' if len(known) > 60 else ''}"
