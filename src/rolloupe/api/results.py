"""Results of the Python API: lists or iterators that also convert to tables.

In a notebook a result shows itself as a table, with all texts escaped, since they come from models.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rolloupe import text
from rolloupe.model import Sample

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from rolloupe.query import SampleItem

T = TypeVar("T")

SHOWN_ROWS = 20
SHOWN_CHARS = 200
LINE = ' style="max-width: 24em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: left"'


class RawRecord(NamedTuple):
    """The record of a sample as its file holds it: `data` is bytes `start` to `stop` of `path`."""

    path: str
    start: int
    stop: int
    data: bytes


class Tabular:
    """A result that converts to a table."""

    def arrow(self) -> "pa.Table":
        """Return the result as a `pyarrow.Table`."""
        raise NotImplementedError

    def pandas(self) -> "pd.DataFrame":
        """Return the result as a pandas data frame. Needs `pip install pandas`."""
        _need("pandas")
        return self.arrow().to_pandas()

    def polars(self) -> "pl.DataFrame":
        """Return the result as a polars data frame. Needs `pip install polars`."""
        _need("polars")
        import polars as pl

        frame = pl.from_arrow(self.arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame


def _need(library: str) -> None:
    """Raise `ModuleNotFoundError` with the next step if a library is not installed."""
    if find_spec(library) is None:
        raise ModuleNotFoundError(f"{library} is not installed. Next: pip install {library}", name=library)


class Rows(list[T], Tabular):
    """A list of named tuples: splits, steps, groups, points of a curve."""

    def arrow(self) -> "pa.Table":
        """Return the result as a `pyarrow.Table`; each statistic has a column: `reward_mean`, `reward_std`, ..."""
        import pyarrow as pa

        return pa.Table.from_pylist([flat(item) for item in self])

    def _repr_html_(self) -> str:
        return html_table([flat(item) for item in self[:SHOWN_ROWS]], len(self))


class Samples(Iterator["SampleItem"], Tabular):
    """The samples of a query, one after another, fetched on demand; or all at once, as a table."""

    def __init__(
        self, items: "Iterable[SampleItem]", table: "Callable[[int | None], pa.Table]", total: Callable[[], int]
    ) -> None:
        self._items = iter(items)
        self._table = table
        self._total = total

    def __next__(self) -> "SampleItem":
        return next(self._items)

    def __repr__(self) -> str:
        return f"<Samples: {self._total()} of a query; iterate, or .arrow(), .pandas(), .polars()>"

    def arrow(self) -> "pa.Table":
        """Return all samples of the query as a `pyarrow.Table`, including those already taken from the iterator.

        It has a column for each field, sample metric and tag.
        """
        return self._table(None)

    def _repr_html_(self) -> str:
        return html_table(self._table(SHOWN_ROWS).to_pylist(), self._total())


class NotebookSample(Sample):
    """A sample that shows itself in a notebook, with its tokens as a table."""

    @property
    def tokens(self) -> "pa.Table":
        """The tokens as an Arrow table: `id`, `text`, `role`, `mask`, each token series, and `top_logprobs`.

        Derived series follow the recorded ones; `rolloupe.tokens` has their formulas. A token without a value has NaN.
        `top_logprobs` are the recorded alternatives, as JSON: lists of objects with `text` and `logprob`, or null.
        """
        from rolloupe.query import token_table

        return token_table(self)

    def _repr_html_(self) -> str:
        row = self.row
        facts = {"reward": row.reward, "advantage": row.advantage, "status": row.status, **row.metrics}
        turns = []
        for turn in self.turns:
            words = "".join(shown for _, shown in text.legible_parts(islice(turn.parts, 10_000)))
            turns.append(f"<b>{escape(turn.role)}</b><pre>{escape(words)}</pre>")
        return f"<p><code>{escape(str(self.key))}</code></p>{html_table([facts], 1)}{''.join(turns)}"


def shown(sample: Sample) -> NotebookSample:
    """Return the same sample, as one that shows itself in a notebook."""
    return NotebookSample(**{name: getattr(sample, name) for name in sample.__struct_fields__})


def html_table(rows: Sequence[dict[str, Any]], total: int) -> str:
    """Return rows as an escaped HTML table without empty columns; it says how many rows are missing."""
    if not rows:
        return "<p>nothing</p>"
    names = list(dict.fromkeys(name for row in rows for name, value in row.items() if value not in (None, "")))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    cells = ("".join(f"<td{LINE}>{_cell(row.get(name))}</td>" for name in names) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    more = f"<p>{total - len(rows):,} more</p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…")


def flat(item: Any) -> dict[str, Any]:
    """Return a named tuple as columns."""
    from msgspec.structs import asdict

    from rolloupe.query import Stats

    flat: dict[str, Any] = {}
    for name, value in item._asdict().items():
        if isinstance(value, Stats):
            flat |= {f"{name}_{one}": number for one, number in asdict(value).items()}
        else:
            flat[name] = value
    return flat
