"""Items and groups that show themselves in a notebook."""

from typing import Any

from rolloupe import query
from rolloupe.api.results import flat, html_table


class NotebookItem(query.SampleItem):
    """A sample in a list."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        row: dict[str, Any] = {"id": str(self.key)} | {
            name: value for name, value in self._asdict().items() if name not in ("key", "metrics", "tags")
        }
        for kind, values in (("metric", self.metrics), ("tag", self.tags)):
            row |= {f"{kind}.{name}" if name in row else name: value for name, value in values.items()}
        return html_table([row], 1)


class NotebookGroup(query.GroupSummary):
    """A group of a step."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_table([flat(self)], 1)
