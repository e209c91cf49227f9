"""Names in a query: columns of the index in SQL, their types, splits, and errors that suggest the nearest names."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from rolloupe.derive import METRICS, PREFIX
from rolloupe.errors import BadQuery
from rolloupe.index import Moments, OpenRun, Piece, Snapshot, StepStats
from rolloupe.index.segments.columns import NUMBER, ColumnRef, is_reserved, metric_column, resolve, sql_type, tag_column
from rolloupe.model import ALIASES, ANNOTATED, KNOWN
from rolloupe.query.engine.relation import quote
from rolloupe.query.records import SampleItem, SampleQuery

NEAR = 3  # maximum number of columns to suggest for an unknown name
CERTAIN = 0.9  # a name this similar is the only suggestion
WORD = re.compile(r"[^\W_]+")

SQL_TYPES = {"integer": "BIGINT", "short": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "word": "VARCHAR"}
NUMBERS = ("DOUBLE", "BIGINT")
DERIVED_NAMES = tuple(f"{PREFIX}{name}" for name in METRICS)  # the derived metrics by the names that people use
EVALS = "eval"
MOMENTS_OF = {"fixed": "columns", "metric": "metrics", "derived": "derived"}
"""The fields of `StepStats` with the moments of each kind of column."""

LISTED = 40
COMPARED = 500  # maximum number of names to compare: comparing takes time for each of them
MAX_CHARS = 200


def column(snapshot: Snapshot, name: str) -> str:
    """The column of that name, in SQL. Raises `BadQuery`, which lists the known names."""
    if (ref := reference(snapshot, name)) is not None:
        return quote(ref.column)
    own = [name for name, _ in run_names(snapshot)]
    columns = [*KNOWN, NUMBER, *own, *DERIVED_NAMES]
    others = {**{metric: f"{PREFIX}{metric}" for metric in METRICS}, **ALIASES}
    names = [*columns, *others]
    similar = difflib.get_close_matches(name, names, 1, CERTAIN)
    wider = with_all_words(name, [*METRICS, *own])
    near = similar or wider[:NEAR] or difflib.get_close_matches(name, names, NEAR)
    guesses = dict.fromkeys(repr(known if known in columns or known in wider else others[known]) for known in near)
    hint = f"is it {' or '.join(guesses)}? " if guesses else ""
    listed = f"{', '.join(columns[:60])}{', ...' if len(columns) > 60 else ''}"
    raise BadQuery(f"no column {name!r}; {hint}there are: {listed}", column=name)


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


def current_rows(piece: Piece, query: SampleQuery, snapshot: Snapshot) -> int:
    """The number of current samples of a piece in the splits and steps of a query."""
    within = (stats for stats in piece.step_stats if is_within(query, stats.split, stats.step))
    return sum(stats.rows for stats in within if stats.launch in (0, snapshot.steps[stats.split, stats.step].launch))


def prompt_word(prompt_hash: int) -> str:
    """The hash of a prompt, as addresses write it."""
    return f"{prompt_hash & (2**64 - 1):016x}"


def hash_of_word(word: str) -> int | None:
    """The hash of a prompt that a word encodes; None for any other word."""
    try:
        return int.from_bytes(bytes.fromhex(word), "big", signed=True) if len(word) == 16 else None
    except ValueError:
        return None


def has_column(run: OpenRun, name: str) -> bool:
    """True if the run has a column of that name."""
    return reference(run.snapshot(), name) is not None


def kind_of(run: OpenRun, name: str) -> str:
    """The kind of a column, such as `metric` or `derived`; empty for an unknown name."""
    ref = reference(run.snapshot(), name)
    return "" if ref is None else ref.kind


def is_number(snapshot: Snapshot, name: str) -> bool:
    """True for a column of numbers; False for text, and for an unknown column."""
    return type_of(reference(snapshot, name)) in NUMBERS


def is_real(snapshot: Snapshot, name: str) -> bool:
    """True for numbers that may be infinite or NaN."""
    return type_of(reference(snapshot, name)) == "DOUBLE"


def moments_by_kind(stats: StepStats, kind: str) -> Mapping[str, Moments]:
    """The moments of the columns of one kind at a step, by name."""
    name = MOMENTS_OF.get(kind)
    return getattr(stats, name) if name else {}


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
    value: float | int | str | None = getattr(item, ref.name, item.columns.get(ref.name))
    return value


def with_all_words(name: str, names: Iterable[str]) -> list[str]:
    """The names that have every word of a name, such as `mean_kl` for `kl`; the shortest first."""
    words = {*WORD.findall(name.lower())}
    matches = dict.fromkeys(known for known in names if words and words <= {*WORD.findall(known.lower())})
    return sorted(matches, key=lambda known: len(WORD.findall(known)))


def is_asked(split: str, selection: str | None) -> bool:
    """True if the selection is this split, `eval` for one of all evaluations, or None for any split."""
    return selection in (None, split) or (selection == EVALS and split.startswith("eval/"))


def is_within(query: SampleQuery, split: str, step: int) -> bool:
    """True if a step is among the splits and steps of a query, which names splits in full."""
    return (
        (not query.splits or split in query.splits)
        and (query.step_min is None or step >= query.step_min)
        and (query.step_max is None or step <= query.step_max)
    )


def unknown(what: str, name: str, candidates: Iterable[str], where: str = "") -> BadQuery:
    """Return the error for an unknown name; `where` follows the name in the sentence."""
    names = list(dict.fromkeys(candidate[:MAX_CHARS] for candidate in candidates))
    near = difflib.get_close_matches(name[:MAX_CHARS], islice(names, COMPARED), NEAR)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    return BadQuery(f"no {what} {name[:MAX_CHARS]!r}{where}; {hint}there are: {listed or 'none'}")
