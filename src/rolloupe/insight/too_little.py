"""Rules that could not be checked, and why."""

from msgspec import Struct

from rolloupe.insight.curves import History


class UncheckedRule(Struct, frozen=True, kw_only=True):
    """A rule that could not be checked."""

    rule: str
    reason: str


class NotChecked(Exception):
    """Raised by a rule that a run has too little for; its text is the reason."""


def enough(history: History | None, least: int, what: str) -> History:
    """Return the points with finite values. Raises `NotChecked` without a curve, and if they are fewer than needed."""
    if history is None:
        raise NotChecked(f"the run has no {what}")
    finite = history.finite()
    if len(finite) < least:
        raise NotChecked(f"{len(finite)} step{'' if len(finite) == 1 else 's'} with {what}; {least} are needed")
    return finite
