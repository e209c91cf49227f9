"""What the names in a query mean: columns of the index, in SQL, and whether they hold numbers."""

import difflib
from collections.abc import Collection, Sequence

from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot, column_of
from rolloupe.index.segments.columns import (
    ALIASES,
    KNOWN,
    NUMBER,
    NUMERIC,
    SAID,
    Meant,
    is_taken,
    kind_of,
    meant,
    metric_column,
    tag_column,
)
from rolloupe.query.engine.relation import quote
from rolloupe.query.records import SampleItem

NUMBERS = frozenset(["step", *NUMERIC])
NEAR = 3
"""So many columns are suggested for a name that no column has."""

CERTAIN = 0.9
"""One that is so much like it is suggested alone."""

WORDS = ("status", "env", "uid", "discarded", "group", "index", "split")
"""The fixed columns that are text and say something to a person."""


def column(snapshot: Snapshot, name: str) -> str:
    """The column of that name, in SQL. Raises `BadQuery`, naming those there are."""
    found = column_of(name, snapshot.metrics, snapshot.tags)
    if found is None:
        raise BadQuery(f"no column {name!r}; {_known(snapshot, name)}", column=name)
    return quote(found)


def meaning(snapshot: Snapshot, name: str) -> Meant | None:
    """What a name means, None where there is none such."""
    return meant(name, snapshot.metrics, snapshot.tags)


def free(name: str, kind: str, others: Collection[str] = ()) -> str:
    """The name by which a sample metric or tag is asked for: with its kind before it where it means something else."""
    return f"{kind}.{name}" if is_taken(name) or name in others else name


def own_names(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The sample metrics and the tags by the names by which they are asked for, and `metric` or `tag` of each."""
    metrics = [(free(name, "metric"), "metric") for name in snapshot.metrics]
    return [*metrics, *((free(name, "tag", snapshot.metrics), "tag") for name in snapshot.tags)]


def is_annotated(snapshot: Snapshot, columns: Collection[str]) -> bool:
    """True where annotations may say something of one of these columns of the index."""
    if not snapshot.annotations:
        return False
    metrics, tags = snapshot.said_names()
    return not {*SAID, *map(metric_column, metrics), *map(tag_column, tags)}.isdisjoint(columns)


def has_column(run: OpenRun, name: str) -> bool:
    """True where the run has a column of that name."""
    snapshot = run.snapshot()
    return column_of(name, snapshot.metrics, snapshot.tags) is not None


def is_number(snapshot: Snapshot, name: str) -> bool:
    """True for a column of numbers; False for text, and where there is none such."""
    found = column_of(name, snapshot.metrics, snapshot.tags) or ""
    return found in NUMBERS or kind_of(found) in ("DOUBLE", "BIGINT")


def is_real(snapshot: Snapshot, name: str) -> bool:
    """True for numbers that need not be finite."""
    found = column_of(name, snapshot.metrics, snapshot.tags) or ""
    return found in ("reward", "advantage") or kind_of(found) == "DOUBLE"


def without_aliases(run: OpenRun, names: Sequence[str]) -> list[str]:
    """The names, with `response_tokens` for `length` and the like, where the run has no metric or tag of that name."""
    snapshot = run.snapshot()
    own = {*snapshot.metrics, *snapshot.tags}
    return [name if name in own else ALIASES.get(name, name) for name in names]


def value_of(item: SampleItem, name: str) -> float | int | str | None:
    """What a sample has in a column; None where it has none such. Aliases are settled before (`without_aliases`)."""
    found = meant(name, item.metrics, item.tags)
    if found is None or found.kind == NUMBER or (found.kind == "fixed" and name in ALIASES):
        return None
    if found.kind != "fixed":
        return item.metrics[found.name] if found.kind == "metric" else item.tags[found.name]
    own = item.key if found.name in ("split", "step", "group", "index") else item
    value: float | int | str | None = getattr(own, found.name)
    return value


def _known(snapshot: Snapshot, name: str) -> str:
    """The columns there are, those that were perhaps meant first."""
    known = [*KNOWN, NUMBER, *(name for name, _ in own_names(snapshot))]
    named = [*known, *ALIASES]
    near = difflib.get_close_matches(name, named, 1, CERTAIN) or difflib.get_close_matches(name, named, NEAR)
    meant = dict.fromkeys(repr(one if one in known else ALIASES[one]) for one in near)
    hint = f"is it {' or '.join(meant)}? " if meant else ""
    return f"{hint}there are: {', '.join(known[:60])}{', ...' if len(known) > 60 else ''}"
