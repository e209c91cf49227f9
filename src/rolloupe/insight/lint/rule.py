"""A rule about samples, and what breaks it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.insight.lint.data import LintData

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
