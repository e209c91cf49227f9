"""The rules that a person switched off for a run, each with a reason."""

from rolloupe.index import OpenRun
from rolloupe.state.records import Change, Mark
from rolloupe.state.store import State

PAGE = "rules"
"""The layout that holds them: `{"off": {RULE: REASON}}`."""


def rules_off(state: State, run: OpenRun) -> dict[str, str]:
    """Return the reasons by rule."""
    return _reasons(_item(state, run))


def switch_rule(state: State, run: OpenRun, rule: str, reason: str | None) -> bool:
    """Switch a rule off, for a reason, or on again for None. False if another change was first: try again.

    Raises as `State.write` does.
    """
    item = _item(state, run)
    reasons = {name: why for name, why in _reasons(item).items() if name != rule}
    if reason is not None:
        reasons[rule] = reason
    value = {"off": reasons} if reasons else None
    change = Change(kind="layout", name=PAGE, value=value, seen=0 if item is None else item.version)
    return not state.write(change, run).is_conflict


def _item(state: State, run: OpenRun) -> Mark | None:
    owner = state.owner(run)
    return next((one for one in state.of(owner, "layout") if one.name == PAGE), None) if owner else None


def _reasons(item: Mark | None) -> dict[str, str]:
    off = item.value.get("off") if item is not None and isinstance(item.value, dict) else None
    return {str(rule): str(reason) for rule, reason in off.items()} if isinstance(off, dict) else {}
