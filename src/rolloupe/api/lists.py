"""Lists of samples: the arguments of `Run.samples` and `Run.search` as a query, and what answers it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from rolloupe import query
from rolloupe.api.arguments import at_most, within
from rolloupe.api.notebook import NotebookItem
from rolloupe.api.results import Samples
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.query import SampleQuery
from rolloupe.query import search as text_search
from rolloupe.query.search import TextQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.query.search import Found, Hit, SearchProgress, Transcript


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


def search(run: OpenRun, wanted: TextQuery, narrowed: SampleQuery, limit: int | None) -> Hits:
    """Search the texts of the samples of a query."""
    return Hits(text_search.search(run, wanted, narrowed, limit=limit))
