"""Rules about samples: those over the columns of the index, those over whole samples, and what lint returns."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe import query, tokens
from rolloupe.insight.curves import UncheckedRule, counted, words_of
from rolloupe.insight.lint.data import LintData, Mask
from rolloupe.model import Sample


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
        return any(rule.is_certain for rule in self.broken)


Places = NDArray[np.intp]

NOWHERE: Places = np.array([], np.intp)


class Breach(NamedTuple):
    """The samples that break a rule."""

    text: str
    """One sentence."""
    total: int
    """How many there are."""
    places: Places = NOWHERE
    """Where they are in the data."""
    ids: Sequence[str] = ()
    """Some of them, if `places` has none."""


Look = Callable[[LintData], Breach | None]
"""Returns None if no sample breaks the rule; raises `NotChecked` if the run has too little data for it."""


class LintRule(NamedTuple):
    """Looks for one thing that is wrong with samples."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    look: Look
    is_certain: bool


def lint_rule(*, is_certain: bool = False) -> Callable[[Look], LintRule]:
    """Make a function the rule of the same name."""
    return lambda look: LintRule(look.__name__, words_of(look), look, is_certain)


def breach(mask: Mask, text: str) -> Breach | None:
    """Return the samples of a mask, with `{n}` in the sentence for their number; None without any."""
    places = np.flatnonzero(mask)
    return Breach(text.format(n=counted(len(places))), len(places), places) if len(places) else None


class WholeSample:
    """A sample with its arrays; each of these has the shape (T,)."""

    def __init__(self, sample: Sample, *, is_trained: bool) -> None:
        self.of, self.is_trained = sample, is_trained

    @cached_property
    def mask(self) -> tokens.Flags | None:
        """The tokens that the recorded mask of the loss has; None without a mask."""
        series = tokens.tokens_of(self.of).series
        return tokens.counts(series[tokens.MASK]) if tokens.MASK in series else None

    @cached_property
    def trained_mask(self) -> tokens.Flags | None:
        """The mask of a trained sample, with at least one token; None for other samples."""
        return self.mask if self.is_trained and self.mask is not None and self.mask.any() else None

    @cached_property
    def token_texts(self) -> list[str]:
        """The texts of the tokens of the response, from the record or a tokenizer."""
        return query.texts_of_response(self.of)


Breaks = Callable[[WholeSample], bool | None]
"""Returns None for a sample that lacks what the rule needs."""


class SampleRule(NamedTuple):
    """Looks for one thing that is wrong with a sample as its file holds it."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    breaks: Breaks
    text: str
    """A sentence without an end, about samples that break it."""
    lacks: str
    """What no sample has if the rule cannot be checked."""
    is_certain: bool
    least_share: float
    """Broken if at least this share of the samples that can be checked break it."""


def sample_rule(
    text: str, lacks: str, *, is_certain: bool = False, least_share: float = 0.0
) -> Callable[[Breaks], SampleRule]:
    """Make a function the rule of the same name."""
    return lambda breaks: SampleRule(breaks.__name__, words_of(breaks), breaks, text, lacks, is_certain, least_share)
