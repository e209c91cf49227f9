"""Results of a search in Python: its hits and its progress."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
