"""Names in a query: the columns of the index that they refer to, in SQL, and their types."""

import difflib
import re
from collections.abc import Collection, Iterable, Sequence

from rolloupe.columns import ALIASES, ANNOTATED, KNOWN
from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun, Snapshot
from rolloupe.index.segments.columns import (
    NUMBER,
    ColumnRef,
    is_reserved,
    metric_column,
    resolve,
    sql_type,
    tag_column,
)
from rolloupe.query.engine.relation import quote
from rolloupe.query.records import SampleItem

NEAR = 3
"""Maximum number of columns to suggest for an unknown name."""

CERTAIN = 0.9
"""A name this similar is the only suggestion."""

WORD = re.compile(r"[^\W_]+")

SQL_TYPES = {"integer": "BIGINT", "short": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "word": "VARCHAR"}
NUMBERS = ("DOUBLE", "BIGINT")
DERIVED_NAMES = tuple(f"{PREFIX}{name}" for name in METRICS)
"""The derived metrics by the names that people use."""


def column(snapshot: Snapshot, name: str) -> str:
    """The column of that name, in SQL. Raises `BadQuery`, which lists the known names."""
    ref = reference(snapshot, name)
    if ref is None:
        raise BadQuery(f"no column {name!r}; {_hint(snapshot, name)}", column=name)
    return quote(ref.column)


def reference(snapshot: Snapshot, name: str) -> ColumnRef | None:
    """Resolve a name; None for an unknown one."""
    return resolve(name, snapshot.metrics, snapshot.tags)


def qualified(name: str, kind: str, others: Collection[str] = ()) -> str:
    """The name that people use for a sample metric or tag: prefixed with its kind if the plain name means another."""
    return f"{kind}.{name}" if is_reserved(name) or name in others else name


def run_names(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The sample metrics and the tags by the names that people use, with `metric` or `tag` for each."""
    metrics = [(qualified(name, "metric"), "metric") for name in snapshot.metrics]
    return [*metrics, *((qualified(name, "tag", snapshot.metrics), "tag") for name in snapshot.tags)]


def is_annotated(snapshot: Snapshot, columns: Collection[str]) -> bool:
    """True if annotations may hold newer values of one of these columns of the index."""
    if not (snapshot.annotations or snapshot.scores):
        return False
    metrics, tags = snapshot.annotated_names()
    fixed = ANNOTATED if snapshot.annotations else ()
    return not {*fixed, *map(metric_column, metrics), *map(tag_column, tags)}.isdisjoint(columns)


def has_column(run: OpenRun, name: str) -> bool:
    """True if the run has a column of that name."""
    return reference(run.snapshot(), name) is not None


def is_metric(run: OpenRun, name: str) -> bool:
    """True for the name of a sample metric of the trainer."""
    ref = reference(run.snapshot(), name)
    return ref is not None and ref.kind == "metric"


def is_derived(run: OpenRun, name: str) -> bool:
    """True for the name of a derived metric."""
    ref = reference(run.snapshot(), name)
    return ref is not None and ref.kind == "derived"


def is_number(snapshot: Snapshot, name: str) -> bool:
    """True for a column of numbers; False for text, and for an unknown column."""
    return type_of(reference(snapshot, name)) in NUMBERS


def is_real(snapshot: Snapshot, name: str) -> bool:
    """True for numbers that may be infinite or NaN."""
    return type_of(reference(snapshot, name)) == "DOUBLE"


def type_of(ref: ColumnRef | None) -> str:
    """The SQL type of a column; empty for an unknown column."""
    if ref is None or ref.kind != "fixed":
        return sql_type(ref.column) if ref else ""
    return SQL_TYPES[KNOWN[ref.name].type]


def without_aliases(run: OpenRun, names: Sequence[str]) -> list[str]:
    """The names, with `response_tokens` for `length` and so on, unless the run has a metric or tag of that name."""
    snapshot = run.snapshot()
    run_columns = {*snapshot.metrics, *snapshot.tags}
    return [name if name in run_columns else ALIASES.get(name, name) for name in names]


def value_of(item: SampleItem, name: str) -> float | int | str | None:
    """The value of a sample in a column; None for a column it lacks. The caller resolves aliases."""
    ref = resolve(name, item.metrics, item.tags)
    if ref is not None and ref.kind == "derived":
        return item.derived.get(ref.name)
    if ref is None or ref.kind == NUMBER or (ref.kind == "fixed" and name in ALIASES):
        return None
    if ref.kind != "fixed":
        return item.metrics[ref.name] if ref.kind == "metric" else item.tags[ref.name]
    value: float | int | str | None = getattr(item, ref.name)
    return value


def with_all_words(name: str, names: Iterable[str]) -> list[str]:
    """Those of some names that have every word of a name, such as `mean_kl` for `kl`; the shortest first."""
    words = {*WORD.findall(name.lower())}
    found = dict.fromkeys(one for one in names if words and words <= {*WORD.findall(one.lower())})
    return sorted(found, key=lambda one: len(WORD.findall(one)))


def _hint(snapshot: Snapshot, name: str) -> str:
    """The known columns, with likely meanings first."""
    columns = [*KNOWN, NUMBER, *(name for name, _ in run_names(snapshot)), *DERIVED_NAMES]
    plain = {name: f"{PREFIX}{name}" for name in METRICS}
    others = {**plain, **ALIASES}
    names = [*columns, *others]
    similar = difflib.get_close_matches(name, names, 1, CERTAIN)
    wider = with_all_words(name, [*METRICS, *(one for one, _ in run_names(snapshot))])
    near = similar or wider[:NEAR] or difflib.get_close_matches(name, names, NEAR)
    guesses = dict.fromkeys(repr(one if one in columns or one in wider else others[one]) for one in near)
    hint = f"is it {' or '.join(guesses)}? " if guesses else ""
    return f"{hint}there are: {', '.join(columns[:60])}{', ...' if len(columns) > 60 else ''}"
