"""Items and groups that show themselves in a notebook."""

from typing import Any

from msgspec.structs import asdict

from rolloupe import query
from rolloupe.api.results import flat, html_table

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
