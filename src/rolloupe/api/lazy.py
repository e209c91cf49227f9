"""Modules imported on first use: DuckDB and pyarrow take longer to load than a run to open."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class LazyModule:
    """Replaces a module until one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from rolloupe import query as queries
    from rolloupe.api import lists
    from rolloupe.query import search as text_search
else:
    queries = LazyModule("rolloupe.query")
    lists = LazyModule("rolloupe.api.lists")
    text_search = LazyModule("rolloupe.query.search")

__all__ = ["lists", "queries", "text_search"]
