"""Results that need heavy modules: items, groups and curves of a notebook, alarms, lists of samples, hits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from rolloupe import query
from rolloupe.api.arguments import at_most, within
from rolloupe.api.results import SHOWN_ROWS, Rows, Samples, Tabular, flat, html_table
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.insight import CheckedCurves, Raised
from rolloupe.query import SampleQuery
from rolloupe.query.run_tokens.token_index import WorstTokens

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.query.search import Found, Hit, SearchProgress, Transcript


UNSEEN = frozenset(["values", "metrics", "tags", "attempt"])
"""Fields of an item that have no column of their own."""


class NotebookItem(query.SampleItem, frozen=True):
    """A sample in a list."""

    def _repr_html_(self) -> str:
        row: dict[str, Any] = {name: value for name, value in asdict(self).items() if name not in UNSEEN}
        for kind, values in (("metric", self.metrics), ("tag", self.tags)):
            row |= {f"{kind}.{name}" if name in row else name: value for name, value in values.items()}
        return html_table([row], 1)


class NotebookGroup(query.GroupSummary):
    """A group of a step."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_table([flat(self)], 1)


class NotebookCurve(query.Curve, Tabular):
    """A curve, which also comes as a table."""

    def arrow(self) -> "pa.Table":
        """Return the points as a `pyarrow.Table`: `step`, `value`, and the other fields that the query asks for."""
        import pyarrow as pa

        names = ("spread", "low", "high", "smooth", "x")
        others = {name: array for name in names if (array := getattr(self, name)) is not None}
        return pa.table({"step": self.steps, "value": self.values, **others})

    def __repr__(self) -> str:
        steps = f", steps {self.steps[0]} to {self.steps[-1]}" if len(self.steps) else ""
        stat = f", {self.query.stat}" if self.query.stat else ""
        return (
            f"<Curve {query.curve_name(self.query)}{stat}: {len(self.steps)} points{steps}; "
            ".steps and .values, or .arrow(), .pandas(), .polars()>"
        )

    def _repr_html_(self) -> str:
        return html_table(self.arrow().slice(0, SHOWN_ROWS).to_pylist(), len(self.steps))


class WorstTokenRows(WorstTokens, Tabular):
    """The most extreme tokens of a series, the worst first."""

    def arrow(self) -> "pa.Table":
        """Return the tokens as a `pyarrow.Table`: `value`, `id` of the sample, `token`, `token_string`, `token_id`."""
        import pyarrow as pa

        schema = {
            "value": pa.float64(), "id": pa.string(), "token": pa.int64(), "token_string": pa.string(),
            "token_id": pa.int64(),
        }  # fmt: skip
        rows = []
        for one in self.tokens:  # UTF-8 cannot hold half of a surrogate pair
            string = one.token_string and one.token_string.encode("utf-8", "replace").decode()
            rows.append(one._asdict() | {"id": str(one.key), "token_string": string})
        return pa.Table.from_pylist(rows, schema=pa.schema(schema))


FIELDS = ("title", "text", "first_step", "last_step", "split", "where", "sort")
"""The fields of an alarm in a table."""


class RunCheck(Rows[Raised]):
    """The alarms of a run, errors first, and which rules were checked."""

    def __init__(self, found: CheckedCurves) -> None:
        super().__init__(found.raised)
        self.checked = found.checked
        """The names of the rules that could be checked."""
        self.unchecked = found.unchecked
        """The other rules: `rule` and `reason`."""

    def arrow(self) -> "pa.Table":
        """Return the alarms as a `pyarrow.Table`: `rule`, `severity`, the fields of an alarm, and `words`."""
        import pyarrow as pa

        steps = {"first_step", "last_step"}
        names = ("rule", "severity", *FIELDS, "words")
        schema = pa.schema([(name, pa.int64() if name in steps else pa.string()) for name in names])
        return pa.Table.from_pylist(self._rows(), schema=schema)

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for rule, alarm in self:
            fields = {name: getattr(alarm, name) for name in FIELDS}
            rows.append({"rule": rule.name, "severity": rule.severity, **fields, "words": rule.words})
        return rows

    def _repr_html_(self) -> str:
        without = f"<p>{len(self.checked)} rules checked; {len(self.unchecked)} could not be</p>"
        return html_table(self._rows(), len(self)) + without


class Hits(Iterator["Hit"]):
    """The samples that contain a text, newest step first, as the search finds them; closing it ends the search."""

    def __init__(self, found: "Iterator[Found]") -> None:
        self._found = found
        self._waiting: Iterator[Hit] = iter(())
        self.progress: SearchProgress = next(found).progress
        """Progress of the search; its `found` is exact once `is_over`."""
        self.transcripts: list[Transcript] = []
        """Logged conversations that contain the text and appear in no sample; filled after the last hit."""

    def __next__(self) -> "Hit":
        while (hit := next(self._waiting, None)) is None:
            self._waiting = iter(self._take(next(self._found)).hits)
        return hit

    def steps(self) -> "Iterator[Found]":
        """Yield new results every tenth of a second, for showing progress."""
        yield from map(self._take, self._found)

    def _take(self, found: "Found") -> "Found":
        self.progress = found.progress
        self.transcripts += found.transcripts
        return found

    def __repr__(self) -> str:
        done, total, found = self.progress.samples, self.progress.known_samples, self.progress.found
        return f"<Hits: {found:,} in {done:,} of {total:,} samples; iterate>"


def samples(run: OpenRun, whole: SampleQuery | None, narrowed: SampleQuery) -> Samples:
    """List the samples of a query record, or of separate arguments. Raises `BadQuery` for both at once."""
    if whole is not None and narrowed != SampleQuery():
        raise BadQuery("samples() takes a SampleQuery or single arguments, not both: put them into the query")
    chosen = query.with_length(run, whole or narrowed)

    def table(limit: int | None) -> "pa.Table":
        return query.table(run, chosen if limit is None else at_most(chosen, limit))

    def total() -> int:
        return within(chosen, query.samples(run, at_most(chosen, 0)).total)

    return Samples((NotebookItem(**asdict(item)) for item in query.every(run, chosen)), table, total)
