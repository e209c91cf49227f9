"""An alarm, and the rule that raises it."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from rolloupe.insight.curves import HasCurves
from rolloupe.insight.names import CurveName

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
