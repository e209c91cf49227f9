"""Find: matches in the blocks of a sample, and the next sample that has one, through the step and then the run."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.search import Pattern, Search, TextQuery
from rolloupe.tui.run.place import ListPlace
from rolloupe.tui.run.session import PAGE, Session
from rolloupe.tui.views.blocks import TextBlock
from rolloupe.tui.views.layout import TextPlace

MOST = 5000
"""Places to mark in one sample."""

Stopped = Callable[[], bool]


def places_in(blocks: Sequence[TextBlock], text: str) -> list[TextPlace]:
    """Return where a text occurs in what is shown. Raises `BadQuery`."""
    pattern = Pattern(TextQuery(text=text))
    found: list[TextPlace] = []
    for number, block in enumerate(blocks):
        found += (TextPlace(number, *place) for place in pattern.places(block.text))
        if len(found) > MOST:
            break
    return found[:MOST]


def next_sample(
    session: Session, place: ListPlace, number: int, text: str, stopped: Stopped
) -> tuple[ListPlace, SampleKey] | None:
    """Return the next sample that has a text: further down its list, then at the steps that follow, then at the first.

    None if no other sample of the split has it. Raises `BadQuery`.
    """
    key = _in_list(session, place, number, text, stopped)
    if key is not None:
        return place, key
    query = place.query()
    later = replace(query, step_min=place.step + 1, step_max=None)
    earlier = replace(query, step_min=None, step_max=place.step - 1)
    for one in (later, earlier):
        key = _first(session, one, text, stopped)
        if key is not None:
            return replace(place, step=key.step), key
    return None


def _in_list(session: Session, place: ListPlace, number: int, text: str, stopped: Stopped) -> SampleKey | None:
    """Return the first sample further down a list that has a text."""
    ids: set[str] = set()
    for found in Search(session.run, TextQuery(text=text), place.query(), transcripts=0, stopped=stopped):
        ids.update(hit.sample.id for hit in found.hits)
    total = session.page(place, 0).total
    for offset in range((number + 1) // PAGE * PAGE, total if ids else 0, PAGE):
        page = session.page(place, offset)
        for nth, item in enumerate(page.samples):
            if page.offset + nth > number and item.id in ids:
                return item.key
    return None


def _first(session: Session, query: SampleQuery, text: str, stopped: Stopped) -> SampleKey | None:
    """Return the first sample of a query that has a text, the oldest step first."""
    search = Search(
        session.run, TextQuery(text=text), query, limit=1, oldest_first=True, transcripts=0, stopped=stopped
    )
    for found in search:
        if found.hits:
            search.close()
            return found.hits[0].sample.key
    return None
