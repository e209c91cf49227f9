"""The bookmarks of a person, which the terminal shares with the page."""

from pathlib import Path

from msgspec import structs

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleItem
from rolloupe.state import State
from rolloupe.state.records import MAX_EXCERPT_CHARS, Change, LocatedMark, SampleMark, marks_of


class Bookmarks:
    """The bookmarks of the open runs. The file of the state is opened with the first question."""

    def __init__(self, state_dir: str | None) -> None:
        self._folder = None if state_dir is None else Path(state_dir)
        self._state: State | None = None

    def state(self) -> State | None:
        """Return the person's state, None if nothing was ever stored; creates nothing."""
        if self._state is None and State.is_there(self._folder):
            self._state = State(self._folder)
        return self._state

    def has(self, run: OpenRun, key: SampleKey) -> bool:
        """Return whether a sample is bookmarked; creates nothing."""
        mark = self._mark(run, str(key))
        return mark is not None and mark.mark.bookmarked

    def listed(self, run: OpenRun) -> list[SampleItem]:
        """Return the bookmarked samples that the run still has, in the order of their ids; creates nothing."""
        keys = [mark.key for mark in self._marks(run) if mark.key is not None and mark.mark.bookmarked]
        items = query.named(run, keys)
        return [items[key] for key in sorted(keys) if key in items]

    def toggle(self, run: OpenRun, item: SampleItem) -> bool:
        """Set or remove a bookmark; a note stays. Returns whether it is set now."""
        state = self._state = self.state() or State(self._folder)
        is_set = not self.has(run, item.key)
        is_conflict = True
        while is_conflict:  # another viewer changed it in between
            mark = self._mark(run, item.id)
            before, seen = (mark.mark, mark.item.version) if mark else (SampleMark(), 0)
            excerpt = item.response[:MAX_EXCERPT_CHARS]
            changed = structs.replace(before, bookmarked=is_set, uid=item.uid, excerpt=excerpt)
            kept = changed if is_set or before.note or before.judgement else None
            change = Change(kind="sample", name=item.id, value=kept, seen=seen)
            is_conflict = state.write(change, run).is_conflict
        return is_set

    def _mark(self, run: OpenRun, name: str) -> LocatedMark | None:
        return next((mark for mark in self._marks(run) if mark.item.name == name), None)

    def _marks(self, run: OpenRun) -> list[LocatedMark]:
        state = self.state()
        owner = state.owner(run) if state else None
        return marks_of(state.of(owner)) if state and owner else []

    def close(self) -> None:
        if self._state is not None:
            self._state.close()
