"""The findings that a person set aside as no hack, each with the reason, a name and the time."""

from datetime import UTC, datetime

from msgspec import Struct, to_builtins

from rolloupe.index import OpenRun
from rolloupe.state.layouts import change_entries, entries_of
from rolloupe.state.store import State

PAGE, FIELD = "findings", "aside"
"""The layout that holds them: `{"aside": {NAME: {"why": ..., "who": ..., "since": ...}}}`."""


class FindingAside(Struct, frozen=True):
    """Why a finding is no hack."""

    why: str = ""
    who: str = ""
    """The name of whoever says so."""
    since: float = 0
    """When, in milliseconds since 1970."""

    @property
    def by(self) -> str:
        """Who says so, and on which day, as far as that is known."""
        try:
            day = datetime.fromtimestamp(self.since / 1000, UTC).date().isoformat() if self.since else ""
        except (OverflowError, ValueError, OSError):  # a number that is no time
            day = ""
        return ", ".join(filter(None, (self.who, day)))


def findings_aside(state: State, run: OpenRun) -> dict[str, FindingAside]:
    """Return them by the phrase or behaviour of the finding, in the order in which they were set aside."""
    every = entries_of(state, run, PAGE, FIELD)
    return {name: _aside(one) for name, one in every.items() if isinstance(one, dict)}


def _aside(one: dict[str, object]) -> FindingAside:
    since = one.get("since")
    why, who = (str(one.get(name) or "") for name in ("why", "who"))
    return FindingAside(why, who, since if isinstance(since, int | float) else 0)


def set_finding_aside(state: State, run: OpenRun, name: str, aside: FindingAside | None) -> None:
    """Set a finding aside, or take it back for None. Raises as `State.write` does."""
    own = {} if aside is None else {name: to_builtins(aside)}
    change_entries(state, run, PAGE, FIELD, lambda every: {n: one for n, one in every.items() if n != name} | own)
