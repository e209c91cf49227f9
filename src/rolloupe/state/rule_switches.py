"""The rules that a person switched off for a run, each with a reason."""

from rolloupe.index import OpenRun
from rolloupe.state.layouts import change_entries, entries_of
from rolloupe.state.store import State

PAGE, FIELD = "rules", "off"
"""The layout that holds them: `{"off": {RULE: REASON}}`."""


def rules_off(state: State, run: OpenRun) -> dict[str, str]:
    """Return the reasons by rule."""
    return {rule: str(reason) for rule, reason in entries_of(state, run, PAGE, FIELD).items()}


def switch_rule(state: State, run: OpenRun, rule: str, reason: str | None) -> None:
    """Switch a rule off, for a reason, or on again for None. Raises as `State.write` does."""
    own = {} if reason is None else {rule: reason}
    change_entries(state, run, PAGE, FIELD, lambda off: {n: why for n, why in off.items() if n != rule} | own)
