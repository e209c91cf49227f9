"""What rules about curves raise: alarms, and reasons why they could not look."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from msgspec import Struct

from rolloupe.insight.curves import CurveName, HasCurves, History


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


Severity = Literal["error", "hint"]
"""An error is certainly wrong; a hint is worth a look."""


class Alarm(NamedTuple):
    """What a rule found, with the samples that show it."""

    title: str
    """A few words, with the number that matters."""
    text: str
    """The numbers, in a sentence."""
    first_step: int
    last_step: int
    split: str = ""
    """The split of the samples; empty for the first one."""
    where: str = ""
    """The filter of the samples that show it; empty: all of these steps."""
    sort: str = ""
    descending: bool = True
    curves: tuple[CurveName, ...] = ()
    """The curves that show it; none for an alarm about the samples themselves."""
    discarded: bool = False
    """True if the samples that show it were discarded."""


class Rule(NamedTuple):
    """Looks for one thing that goes wrong."""

    name: str
    title: str
    words: str
    """When it raises an alarm, in a sentence with its thresholds."""
    look: Callable[[HasCurves], Iterator[Alarm]]
    """Raises `NotChecked` if the run has too little for it, perhaps after alarms: one of its evaluations may have."""
    severity: Severity = "hint"
