"""What a person decided about a run: rules that are off, findings that are not hacks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, to_builtins

from rolloupe.index import OpenRun
from rolloupe.state import State

RULES = ("rules", "off")
"""The page and the field of its layout that hold the rules that are off: `{"off": {RULE: REASON}}`."""
FINDINGS = ("findings", "aside")
"""The page and the field that hold findings that are not hacks: `{"aside": {NAME: {"why": ..., "who": ..., "since":
...}}}`.
"""


def _entries(layout: Mapping[str, Any], field: str) -> dict[str, Any]:
    entries = layout.get(field)
    return dict(entries) if isinstance(entries, dict) else {}


def _set(state: State, run: OpenRun, place: tuple[str, str], name: str, entry: object) -> None:
    """Set an entry, or remove it for None."""
    page, field = place

    def change(layout: Mapping[str, Any]) -> dict[str, Any]:
        entries = _entries(layout, field)
        entries.pop(name, None)
        if entry is not None:
            entries[name] = entry
        return {field: entries} if entries else {}

    state.change_layout(run, page, change)


def rules_off(state: State, run: OpenRun) -> dict[str, str]:
    """Return the reasons by rule."""
    page, field = RULES
    return {rule: str(reason) for rule, reason in _entries(state.layout(run, page)[0], field).items()}


def switch_rule(state: State, run: OpenRun, rule: str, reason: str | None) -> None:
    """Switch a rule off, for a reason, or on again for None. Raises as `State.write` does."""
    _set(state, run, RULES, rule, reason)


class FindingAside(Struct, frozen=True):
    """Why a finding is not a hack."""

    why: str = ""
    who: str = ""
    """The name of the person who says so."""
    since: float = 0
    """When, in milliseconds since 1970."""

    @property
    def by(self) -> str:
        """The person and the day; empty if neither is known."""
        try:
            day = datetime.fromtimestamp(self.since / 1000, UTC).date().isoformat() if self.since else ""
        except (OverflowError, ValueError, OSError):  # a number that is not a time
            day = ""
        return ", ".join(filter(None, (self.who, day)))


def findings_aside(state: State, run: OpenRun) -> dict[str, FindingAside]:
    """Return the findings that were set aside, oldest first, by phrase or behaviour."""
    page, field = FINDINGS
    by_name = {}
    for name, entry in _entries(state.layout(run, page)[0], field).items():
        if isinstance(entry, dict):
            why, who = (str(entry.get(key) or "") for key in ("why", "who"))
            since = entry.get("since")
            by_name[name] = FindingAside(why, who, since if isinstance(since, int | float) else 0)
    return by_name


def set_finding_aside(state: State, run: OpenRun, name: str, aside: FindingAside | None) -> None:
    """Set a finding aside, or take it back for None. Raises as `State.write` does."""
    _set(state, run, FINDINGS, name, None if aside is None else to_builtins(aside))
