"""What pages keep of a run, as layouts that commands can read and change too."""

from collections.abc import Callable, Mapping
from typing import Any

from rolloupe.index import OpenRun
from rolloupe.state.records import Change
from rolloupe.state.store import State


def entries_of(state: State, run: OpenRun, page: str, field: str) -> dict[str, Any]:
    """The entries of a field of a page's layout, which is an object."""
    return _entries(state, run, page, field)[0]


def change_entries(
    state: State, run: OpenRun, page: str, field: str, change: Callable[[dict[str, Any]], Mapping[str, Any]]
) -> None:
    """Change the entries of the one field of a page's layout, again if another viewer changes them in between.

    Raises as `State.write` does.
    """
    while True:
        entries, seen = _entries(state, run, page, field)
        after = change(entries)
        written = state.write(
            Change(kind="layout", name=page, value={field: dict(after)} if after else None, seen=seen), run
        )
        if not written.is_conflict:
            return


def _entries(state: State, run: OpenRun, page: str, field: str) -> tuple[dict[str, Any], int]:
    """The entries, and the version of the layout."""
    owner = state.owner(run)
    items = [one for one in state.of(owner, "layout") if one.name == page and not one.shared] if owner else []
    item = items[0] if items else None
    if item is None:
        return {}, 0
    entries = item.value.get(field) if isinstance(item.value, dict) else None
    return ({str(name): one for name, one in entries.items()} if isinstance(entries, dict) else {}), item.version
