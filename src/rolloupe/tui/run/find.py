"""Find: matches in the blocks of a sample, and the further samples that have one, through the step and then the run."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe import query
from rolloupe.model import Sample, SampleKey
from rolloupe.query.search import Hit, Pattern, Search, SearchOptions, TextQuery
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.session import PAGE, Session
from rolloupe.tui.views.blocks import TextBlock
from rolloupe.tui.views.layout import TextPlace

MOST = 5000
"""Places to mark in one sample."""

Stopped = Callable[[], bool]
Tell = Callable[[str], None]
"""Hears how far a walk has come."""

BlocksOf = Callable[[Sample], Sequence[TextBlock]]
"""What the screen shows of a sample."""


class FoundPlaces(NamedTuple):
    """Where a text occurs in a sample, at most `MOST` times."""

    places: list[TextPlace]
    are_all: bool

    @property
    def total(self) -> str:
        """How many there are."""
        return f"{'' if self.are_all else 'more than '}{len(self.places):,}"


def places_in(blocks: Sequence[TextBlock], text: str) -> FoundPlaces:
    """Return where a text occurs in what is shown. Raises `BadQuery`."""
    pattern = Pattern(TextQuery(text=text))
    every = (TextPlace(n, *place) for n, block in enumerate(blocks) for place in pattern.places(block.text))
    return FoundPlaces(list(islice(every, MOST)), next(every, None) is None)


class FoundSample(NamedTuple):
    """A sample that shows a text, and the list that it is in."""

    place: ListPlace
    key: SampleKey


class Walk:
    """Walks from a sample to the others of its split that show a text.

    First come those further down the list, then those at later and at earlier steps with the text in their prompts or
    responses, which the index knows; then those at other steps that show it elsewhere, for which every sample is read;
    last those above in the list.
    """

    def __init__(self, session: Session, place: ListPlace, number: int, text: str, blocks_of: BlocksOf) -> None:
        self._session, self._place, self._number = session, place, number
        self._text, self._pattern, self._blocks_of = text, Pattern(TextQuery(text=text)), blocks_of
        self._read: query.Reader
        self._stopped: Stopped = lambda: False
        self._tell: Tell = lambda _: None
        self._samples = self._go()
        self.is_on = True
        """True until the next sample is found."""

    def on(self, stopped: Stopped, tell: Tell) -> FoundSample | None:
        """Go on to the next sample; None if there is no further one, or if the walk is stopped. Raises `BadQuery`."""
        self._stopped, self._tell = stopped, tell
        try:
            return next(self._samples, None)
        finally:
            self.is_on = False

    def _go(self) -> Iterator[FoundSample]:
        self._read = query.Reader(self._session.run)
        place, total = self._place, self._session.page(self._place, 0).total
        yield from self._in_list(place, range(self._number + 1, total))
        seen: set[SampleKey] = set()
        for found in self._in_index():
            seen.add(found.key)
            yield found
        steps = self._session.steps(place.split)
        for step in [one for one in steps if one > place.step] + [one for one in steps if one < place.step]:
            there = replace(place, step=step)
            samples = range(self._session.page(there, 0).total)
            yield from (one for one in self._in_list(there, samples) if one.key not in seen)
        yield from self._in_list(place, range(min(self._number, total)))

    def _in_list(self, place: ListPlace, numbers: range) -> Iterator[FoundSample]:
        """Yield the samples of a part of a list that show the text."""
        for number in numbers:
            if self._stopped():
                return
            if number % PAGE == 0:
                self._tell(f"looking further: every field of step {place.step}, sample {number + 1:,} …")
            page = self._session.page(place, number)
            nth = number - page.offset
            if nth < len(page.samples) and self._has_it(page.samples[nth].key):
                yield FoundSample(place, page.samples[nth].key)

    def _in_index(self) -> Iterator[FoundSample]:
        """Yield samples at other steps whose prompt or response has the text, and shows it; the oldest step first."""
        asked, step = self._place.query(), self._place.step
        for one in (replace(asked, step_min=step + 1, step_max=None), replace(asked, step_min=None, step_max=step - 1)):
            options = SearchOptions(oldest_first=True, transcripts=0)
            search = Search(self._session.run, TextQuery(text=self._text), one, options, self._is_stopped)
            for hit in self._hits(search):
                if self._has_it(hit.sample.key):
                    yield FoundSample(replace(self._place, step=hit.sample.key.step), hit.sample.key)

    def _hits(self, search: Search) -> Iterator[Hit]:
        for found in search:
            progress = found.progress
            self._tell(f"looking further: searched {progress.samples:,} of {progress.known_samples:,} samples …")
            yield from found.hits

    def _is_stopped(self) -> bool:
        return self._stopped()

    def _has_it(self, key: SampleKey) -> bool:
        return any(next(self._pattern.places(block.text), None) for block in self._blocks_of(self._read(key)))
