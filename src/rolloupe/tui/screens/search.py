"""`/`: search the run; the samples that match appear as they are found."""

import re
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from rolloupe.query import SampleQuery
from rolloupe.query.search import Found, Hit, Search, SearchOptions, TextQuery
from rolloupe.tui.draw.ink import ACCENT, DIM, MATCH, PLAIN, QUIET, Line, cut, joined, safe
from rolloupe.tui.draw.numbers import listed, score
from rolloupe.tui.keys import SEARCH_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.widgets.lines import LineBar
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

BEFORE = 60
"""Letters before a match."""
MOST = 300
"""Hits that are listed; all are counted."""


class SearchScreen(BackScreen[Hit]):
    """The hits of a search. Returns the one that a person chooses."""

    KEYS = SEARCH_KEYS

    def __init__(self, rollouts: "Rollouts", text: str) -> None:
        super().__init__(rollouts)
        self._text = text
        self._hits: list[Hit] = []
        self._progress: Found | None = None

    def compose(self) -> ComposeResult:
        yield self.title_bar("search-head", self._head)
        yield RowList("hits", height=2)
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Begin to search."""
        self.rows.focus()
        text, session, wanted = TextQuery(text=self._text), self.session, self.questions.wanted("search")

        def search() -> None:
            options = SearchOptions(limit=MOST, transcripts=0)
            for found in Search(session.run, text, SampleQuery(), options, stopped=lambda: not wanted()):
                self.app.call_later(self._take, found)

        self.ask("search", search, lambda _: None, is_slow=True)

    def _take(self, found: Found) -> None:
        if self not in self.app.screen_stack:  # the person left meanwhile
            return
        self._hits += found.hits
        self._progress = found
        self.query_one(LineBar).changed()
        self.rows.fill(len(self._hits), self._row)
        self.press_kept()

    def _head(self, width: int) -> list[Line]:
        title: Line = [(" Search  ", DIM), safe(self._text, ACCENT)]
        if self._progress is None:
            return [cut(title, width)]
        progress = self._progress.progress
        found = listed(MOST, progress.found, "sample")
        how_far = "" if progress.is_over else f"  searched {progress.samples:,} of {progress.known_samples:,}"
        notes = [safe(note, DIM) for note in progress.notes[:1]]
        return [cut(joined([title, [(found + how_far, QUIET)], notes]), width)]

    def _row(self, number: int, width: int) -> list[Line]:
        hit, mask = self._hits[number], self.rollouts.mask
        first: Line = [(" ", PLAIN), safe(hit.sample.id, QUIET), (f"  reward {score(hit.sample.reward)}", DIM)]
        second: Line = [("   ", PLAIN)]
        for nth, text in enumerate(hit.snippets[0].pieces if hit.snippets else ()):
            shown = re.sub(r"\s+", " ", mask(text))
            second.append(safe(shown if nth else shown[-BEFORE:], MATCH if nth % 2 else PLAIN))
        return [cut(first, width), cut(second, width)]

    @property
    def is_reading(self) -> bool:
        """True until the first hit."""
        return not self._hits and not (self._progress and self._progress.progress.is_over)

    def choose(self, number: int) -> None:
        """Return the hit."""
        self.dismiss(self._hits[number])
