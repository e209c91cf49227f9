"""Find: matches in the blocks of a sample, and the next sample that has one, through the step and then the run."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe import query
from rolloupe.model import Sample, SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.search import Pattern, Search, TextQuery
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.session import Session
from rolloupe.tui.views.blocks import TextBlock
from rolloupe.tui.views.layout import TextPlace

MOST = 5000
"""Places to mark in one sample."""

Stopped = Callable[[], bool]

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


def next_sample(
    session: Session, place: ListPlace, number: int, text: str, blocks_of: BlocksOf, stopped: Stopped
) -> tuple[ListPlace, SampleKey] | None:
    """Return the next sample that shows a text: further down its list, at later steps, at earlier ones, above it.

    Of the list every sample is read as it is shown; at other steps prompts and responses are searched. None if no
    other sample of the split has it. Raises `BadQuery`.
    """
    pattern = Pattern(TextQuery(text=text))

    def has_it(key: SampleKey) -> bool:
        return any(next(pattern.places(block.text), None) for block in blocks_of(query.sample(session.run, key)))

    total = session.page(place, 0).total
    key = _in_list(session, place, range(number + 1, total), has_it, stopped)
    if key is not None:
        return place, key
    asked = place.query()
    later = replace(asked, step_min=place.step + 1, step_max=None)
    earlier = replace(asked, step_min=None, step_max=place.step - 1)
    for one in (later, earlier):
        key = _at_steps(session, one, text, has_it, stopped)
        if key is not None:
            return replace(place, step=key.step), key
    key = _in_list(session, place, range(min(number, total)), has_it, stopped)
    return None if key is None else (place, key)


def _in_list(
    session: Session, place: ListPlace, numbers: range, has_it: Callable[[SampleKey], bool], stopped: Stopped
) -> SampleKey | None:
    """Return the first sample of a part of a list that shows a text."""
    for number in numbers:
        if stopped():
            return None
        page = session.page(place, number)
        nth = number - page.offset
        if nth < len(page.samples) and has_it(page.samples[nth].key):
            return page.samples[nth].key
    return None


def _at_steps(
    session: Session, asked: SampleQuery, text: str, has_it: Callable[[SampleKey], bool], stopped: Stopped
) -> SampleKey | None:
    """Return the first sample of a query that has a text and shows it, the oldest step first."""
    search = Search(session.run, TextQuery(text=text), asked, oldest_first=True, transcripts=0, stopped=stopped)
    for found in search:
        for hit in found.hits:
            if has_it(hit.sample.key):
                search.close()
                return hit.sample.key
    return None
