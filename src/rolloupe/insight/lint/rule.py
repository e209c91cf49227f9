"""A rule about samples, what breaks it, and what lint returns."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.insight.alarm import UncheckedRule
from rolloupe.insight.lint.data import LintData


class BrokenRule(Struct, frozen=True, kw_only=True):
    """A rule that some samples break."""

    rule: str
    words: str
    """When it is broken, in words."""
    is_certain: bool
    """True if this is wrong without a threshold; False for what needs a look."""
    text: str
    """One sentence with the number that matters."""
    count: int
    """How many samples are known to break it: of a rule about the series of a step, those with its extreme tokens."""
    samples: list[str]
    """The ids of some of them."""


class RunLint(Struct, frozen=True, kw_only=True):
    """The rules that the samples of a run break."""

    broken: list[BrokenRule]
    """Certain ones first, then those that need a look."""
    unchecked: list[UncheckedRule]
    checked: list[str]
    """The rules that could be checked, by name."""
    samples: int
    """How many samples were looked at."""
    discarded: int = 0
    """How many of them were not trained on: rules about the update leave these out."""
    read: int = 0
    """How many of them were read whole, spread evenly over the steps, for the rules that need their arrays or texts."""

    @property
    def is_broken(self) -> bool:
        """True if a certain rule is broken."""
        return any(one.is_certain for one in self.broken)


Places = NDArray[np.intp]

NOWHERE: Places = np.array([], np.intp)


class Breach(NamedTuple):
    """The samples that break a rule, by place in the data."""

    places: Places
    text: str
    """One sentence."""
    ids: Sequence[str] = ()
    """Samples to read, where `places` has none."""
    total: int = 0
    """How many samples there are, where `places` has none."""


class Unknown(NamedTuple):
    """Why a rule cannot be checked."""

    reason: str


class LintRule(NamedTuple):
    """Looks for one thing that is wrong with samples."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    look: Callable[[LintData], Breach | Unknown | None]
    """None if no sample breaks it."""
    is_certain: bool = False


def breach(found: NDArray[np.bool_], text: str) -> Breach | None:
    """The samples of a mask, with `{n}` in the sentence for their number; None without any."""
    places = np.flatnonzero(found)
    return Breach(places, text.format(n=counted(len(places)))) if len(places) else None


def counted(count: int, noun: str = "sample") -> str:
    """`1 sample`, `2 samples`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
