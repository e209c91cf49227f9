"""What tests of searches share."""

from collections.abc import Callable
from typing import Any

from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery
from rolloupe.query.search import Search, SearchOptions, TextQuery


def search(
    run: OpenRun,
    text: TextQuery,
    query: SampleQuery | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
    **options: Any,
) -> Search:
    """A search of the samples of a query, or of all samples, with the options of `SearchOptions`."""
    return Search(run, text, query or SampleQuery(), SearchOptions(**options), stopped)
