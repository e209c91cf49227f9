"""Lists of samples: turns the arguments of `Run.samples` and `Run.search` into a query, and answers it."""

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from rolloupe import query
from rolloupe.api.arguments import at_most, within
from rolloupe.api.notebook import NotebookItem
from rolloupe.api.results import Samples
from rolloupe.api.search import Hits
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery
from rolloupe.query import search as text_search
from rolloupe.query.search import TextQuery

if TYPE_CHECKING:
    import pyarrow as pa


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


def search(run: OpenRun, wanted: TextQuery, narrowed: SampleQuery, limit: int | None) -> Hits:
    """Search the texts of the samples of a query."""
    return Hits(text_search.search(run, wanted, narrowed, limit=limit))
