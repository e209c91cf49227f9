"""What a search gives back in Python: hits one after another, and how far it has come."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolloupe.query.search import Found, Hit, SearchProgress, Transcript


class Hits(Iterator["Hit"]):
    """The samples in which something was found, newest step first, as they are found; closing it ends the search."""

    def __init__(self, found: "Iterator[Found]") -> None:
        self._found = found
        self._waiting: Iterator[Hit] = iter(())
        self.progress: SearchProgress = next(found).progress
        """How far the search has come: `found` of it is exact once `is_over`."""
        self.transcripts: list[Transcript] = []
        """Conversations of reports in which it was found, and that no sample shows: behind the last hit."""

    def __next__(self) -> "Hit":
        while (hit := next(self._waiting, None)) is None:
            self._waiting = iter(self._take(next(self._found)).hits)
        return hit

    def steps(self) -> "Iterator[Found]":
        """What was found since, every tenth of a second: for who wants to show how far it is."""
        yield from map(self._take, self._found)

    def _take(self, found: "Found") -> "Found":
        self.progress = found.progress
        self.transcripts += found.transcripts
        return found

    def __repr__(self) -> str:
        done, known, found = self.progress.samples, self.progress.known_samples, self.progress.found
        return f"<Hits: {found:,} in {done:,} of {known:,} samples; iterate>"
