"""Items, groups and curves that show themselves in a notebook."""

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from rolloupe import query
from rolloupe.api.results import SHOWN_ROWS, Tabular, flat, html_table

if TYPE_CHECKING:
    import pyarrow as pa

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
        """Return the points as a `pyarrow.Table`: `step`, `value`, and what else the query asks for.

        That is `spread`, `low`, `high`, `smooth` and `x`, as the fields of the curve are called.
        """
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
