"""What a person decided about a run: rules that are off, findings that are no hacks."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, to_builtins

from rolloupe.index import OpenRun
from rolloupe.state.records import Change
from rolloupe.state.store import State

RULES = ("rules", "off")
"""The page and the field of its layout that hold the rules that are off: `{"off": {RULE: REASON}}`."""
FINDINGS = ("findings", "aside")
"""Those that hold findings: `{"aside": {NAME: {"why": ..., "who": ..., "since": ...}}}`."""


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


def rules_off(state: State, run: OpenRun) -> dict[str, str]:
    """Return the reasons by rule."""
    return {rule: str(reason) for rule, reason in entries_of(state, run, *RULES).items()}


def switch_rule(state: State, run: OpenRun, rule: str, reason: str | None) -> None:
    """Switch a rule off, for a reason, or on again for None. Raises as `State.write` does."""
    own = {} if reason is None else {rule: reason}
    change_entries(state, run, *RULES, lambda off: {n: why for n, why in off.items() if n != rule} | own)


class FindingAside(Struct, frozen=True):
    """Why a finding is no hack."""

    why: str = ""
    who: str = ""
    """The name of whoever says so."""
    since: float = 0
    """When, in milliseconds since 1970."""

    @property
    def by(self) -> str:
        """Who says so, and on which day; empty if neither is known."""
        try:
            day = datetime.fromtimestamp(self.since / 1000, UTC).date().isoformat() if self.since else ""
        except (OverflowError, ValueError, OSError):  # a number that is no time
            day = ""
        return ", ".join(filter(None, (self.who, day)))


def findings_aside(state: State, run: OpenRun) -> dict[str, FindingAside]:
    """Return them by the phrase or behaviour of the finding, in the order in which they were set aside."""
    every = entries_of(state, run, *FINDINGS)
    return {name: _aside(one) for name, one in every.items() if isinstance(one, dict)}


def _aside(one: dict[str, object]) -> FindingAside:
    since = one.get("since")
    why, who = (str(one.get(name) or "") for name in ("why", "who"))
    return FindingAside(why, who, since if isinstance(since, int | float) else 0)


def set_finding_aside(state: State, run: OpenRun, name: str, aside: FindingAside | None) -> None:
    """Set a finding aside, or take it back for None. Raises as `State.write` does."""
    own = {} if aside is None else {name: to_builtins(aside)}
    change_entries(state, run, *FINDINGS, lambda every: {n: one for n, one in every.items() if n != name} | own)
