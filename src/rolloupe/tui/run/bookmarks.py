"""The bookmarks of a person, which the terminal shares with the page."""

from contextlib import suppress
from pathlib import Path

from msgspec import structs

from rolloupe import query
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query import SampleItem
from rolloupe.state import State
from rolloupe.state.records import MAX_EXCERPT_CHARS, Change, Mark, SampleMark


class Bookmarks:
    """The bookmarks of the open runs. The file of the state is opened with the first question."""

    def __init__(self, state_dir: str | None) -> None:
        self._folder = None if state_dir is None else Path(state_dir)
        self._state: State | None = None

    def _opened(self) -> State:
        if self._state is None:
            self._state = State(self._folder)
        return self._state

    def state(self) -> State | None:
        """Return the person's state, None if nothing was ever stored; creates nothing."""
        return self._opened() if State.is_there(self._folder) else None

    def has(self, run: OpenRun, key: SampleKey) -> bool:
        """Return whether a sample is bookmarked; creates nothing."""
        return State.is_there(self._folder) and _is_set(self._mark(run, key))

    def listed(self, run: OpenRun) -> list[SampleItem]:
        """Return the bookmarked samples that the run still has, in the order of their ids; creates nothing."""
        marks = self._marks(run) if State.is_there(self._folder) else []
        keys: list[SampleKey] = []
        for mark in marks:
            with suppress(ValueError):  # the name may be no id
                keys += [SampleKey.parse(mark.name)] if _is_set(mark) else []
        items = query.named(run, keys)
        return [items[key] for key in sorted(keys) if key in items]

    def toggle(self, run: OpenRun, item: SampleItem) -> bool:
        """Set or remove a bookmark; a note stays. Returns whether it is set now."""
        is_set = not _is_set(self._mark(run, item.key))
        is_conflict = True
        while is_conflict:  # another viewer changed it in between
            mark = self._mark(run, item.key)
            before = mark.value if mark and isinstance(mark.value, SampleMark) else SampleMark()
            excerpt = item.response[:MAX_EXCERPT_CHARS]
            changed = structs.replace(before, bookmarked=is_set, uid=item.uid, excerpt=excerpt)
            kept = changed if is_set or before.note or before.judgement else None
            change = Change(kind="sample", name=item.id, value=kept, seen=mark.version if mark else 0)
            is_conflict = self._opened().write(change, run).is_conflict
        return is_set

    def _mark(self, run: OpenRun, key: SampleKey) -> Mark | None:
        return next((mark for mark in self._marks(run) if mark.name == str(key)), None)

    def _marks(self, run: OpenRun) -> list[Mark]:
        owner = self._opened().owner(run)
        return self._opened().of(owner) if owner else []

    def close(self) -> None:
        if self._state is not None:
            self._state.close()


def _is_set(mark: Mark | None) -> bool:
    return mark is not None and isinstance(mark.value, SampleMark) and mark.value.bookmarked
