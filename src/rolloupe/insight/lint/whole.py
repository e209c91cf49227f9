"""Samples that lint reads whole: some of a run, spread evenly over its steps."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rolloupe import query, tokens
from rolloupe.insight.lint.data import LintData, Mask
from rolloupe.insight.lint.rule import Breach, Places, Unknown, counted
from rolloupe.model import Sample

MOST_READ = 256
MOST_BYTES = 2**25
"""Of records, as they lie in files."""


class WholeSample:
    """A sample with its arrays; each of these has the shape (T,)."""

    def __init__(self, sample: Sample, *, is_trained: bool) -> None:
        self.of, self.is_trained = sample, is_trained

    @cached_property
    def mask(self) -> tokens.Flags | None:
        """Which tokens the recorded mask of the loss has; None without one."""
        series = tokens.tokens_of(self.of).series
        return tokens.counts(series[tokens.MASK]) if tokens.MASK in series else None

    @cached_property
    def trained_mask(self) -> tokens.Flags | None:
        """The mask of a sample that is trained on, with one token at least; None for others."""
        return self.mask if self.is_trained and self.mask is not None and self.mask.any() else None

    @cached_property
    def token_texts(self) -> list[str]:
        """The texts of the tokens of the response, from the record or a tokenizer."""
        return query.texts_of_response(self.of)


class SampleRule(NamedTuple):
    """Looks for one thing that is wrong with a sample as its file holds it."""

    name: str
    words: str
    """When it is broken, in a sentence with its thresholds."""
    breaks: Callable[[WholeSample], bool | None]
    """None for a sample without what it takes to tell."""
    text: str
    """A sentence without an end, about samples that break it."""
    lacks: str
    """What no sample has if the rule cannot be checked."""
    is_certain: bool = False
    least_share: float = 0.0
    """Broken if so many of the samples that tell break it."""


class _Verdicts(NamedTuple):
    """Of the samples that were read, in the order of the run."""

    telling: Counter[str]
    """How many tell, by rule."""
    broken: Mapping[str, list[int]]
    """The places of those that break a rule."""
    read: int


def verdicts(data: LintData, rules: Mapping[str, SampleRule]) -> tuple[dict[str, Breach | Unknown | None], int]:
    """What the rules find in some samples, and how many samples were read. Holds one sample at a time."""
    found = _Verdicts(Counter(), {name: [] for name in rules}, 0)
    read = 0
    for place, sample in _some(data):
        read += 1
        for name, rule in rules.items():
            is_broken = rule.breaks(sample)
            found.telling[name] += is_broken is not None
            if is_broken:
                found.broken[name].append(place)
    return {name: _verdict(rule, found.telling[name], sorted(found.broken[name])) for name, rule in rules.items()}, read


def _verdict(rule: SampleRule, telling: int, places: list[int]) -> Breach | Unknown | None:
    if not telling:
        return Unknown(f"no sample that lint read has {rule.lacks}")
    if not places or len(places) < rule.least_share * telling:
        return None
    return Breach(np.array(places, np.intp), f"{rule.text}: {len(places):,} of {counted(telling)} read.")


def _some(data: LintData) -> Iterator[tuple[int, WholeSample]]:
    for place, sample in query.whole_samples(data.run, data.arrays, places_to_read(data).tolist(), MOST_BYTES):
        yield place, WholeSample(sample, is_trained=bool(data.trained[place]))


def places_to_read(data: LintData) -> Places:
    """Some samples of every part of the run; of those with token series, which may be few, as many."""
    of_all = np.ones(len(data), np.bool_)
    return np.union1d(_spread(data, of_all, MOST_READ // 2), _spread(data, data.has_tokens, MOST_READ // 2))


def _spread(data: LintData, of: Mask, most: int) -> Places:
    """So many places among some samples, evenly over the steps."""
    split = np.unique(data.split.astype(str), return_inverse=True)[1]
    order = np.lexsort((data.step, split))
    some = order[of[order]]
    chosen: Places = some[np.unique(np.linspace(0, len(some) - 1, most).astype(np.intp))] if len(some) else some
    return chosen
