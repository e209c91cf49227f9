"""Bookmarks and notes that a person made in the page, read only."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.state import State, found, marks_of


class Bookmark(NamedTuple):
    """A sample that a person marked. `id` is the sample's current id, or its last one if the run no longer has it."""

    id: str
    is_bookmarked: bool
    """False if the sample has only a note."""
    note: str
    is_there: bool
    uid: str
    response: str
    """The start of the response."""
    changed_s: float
    """Seconds since the epoch."""


def bookmarks(run: OpenRun, state_dir: Path | None) -> list[Bookmark]:
    """Return the bookmarks of a run's samples; creates nothing for a run without any."""
    if not State.is_there(state_dir):
        return []
    state = State(state_dir)
    try:
        owner = state.owner(run)
        marks = marks_of(state.of(owner)) if owner else []
    finally:
        state.close()

    def moved(uids: Sequence[str]) -> dict[str, tuple[SampleKey, str]]:
        return {uid: (item.key, item.response) for uid, item in query.by_uid(run, uids).items()}

    samples = found(marks, lambda keys: query.responses(run, keys), moved)
    return [
        Bookmark(
            str(sample[0]) if sample and sample[0] != mark.key else mark.item.name,
            mark.mark.bookmarked, mark.mark.note, sample is not None, mark.mark.uid,
            sample[1] if sample else mark.mark.excerpt, mark.item.changed_s,
        )
        for mark, sample in samples
    ]  # fmt: skip
