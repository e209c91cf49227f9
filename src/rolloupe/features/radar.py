"""The phrase radar: the sums of every phrase of the samples of a step, without a list of phrases to look for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features.within_groups import TINY, Floats, Grouping
from rolloupe.features.words import SAMPLE_BITS, SAMPLES, Hashes, Places, phrases_of

BLOCK_SAMPLES = 1 << SAMPLE_BITS
"""The most samples to look at together."""

MIN_SAMPLES = 3
"""A phrase of fewer samples of a block is left out."""

MAX_ROWS = 3_000
"""The most phrases to keep of a step, those that vary most among siblings: a choice that knows no rewards."""

_COUNTS = np.log2(1 + np.arange(65_536))


class FeatureRows(NamedTuple):
    """The sums of the phrases of a block, each of shape (C,): see `within_groups`."""

    hashes: Hashes
    samples: Places
    """The number of samples that have the phrase."""
    groups: Places
    s: Floats
    r: Floats
    v: Floats
    d: Floats

    def at(self, places: Places) -> "FeatureRows":
        """Some of the phrases."""
        return FeatureRows(*(one[places] for one in self))  # type: ignore[arg-type]


class _Hits(NamedTuple):
    """How often samples have phrases: in order of hashes, and of samples for each."""

    hashes: Hashes
    samples: Places
    x: Floats

    def where(self, kept: NDArray[np.bool_]) -> "_Hits":
        return _Hits(self.hashes[kept], self.samples[kept], self.x[kept])


def feature_rows(
    words: Hashes, samples: Places, advantages: Floats, rewards: Floats, grouping: Grouping, most: int = MAX_ROWS
) -> FeatureRows:
    """The sums of the phrases of a block of at most `BLOCK_SAMPLES` samples, which come group by group.

    `words` are the hashes of their words, and `samples` the number of the sample of each, ascending; the advantages and
    rewards are centred within groups, shape (N,).
    """
    hits = _hits(words, samples)
    starts = _starts(hits.hashes)
    rows = _sums(hits, starts, advantages, rewards, grouping)
    kept = np.flatnonzero(rows.d > TINY)
    if len(kept) > most:
        order = np.lexsort((rows.hashes[kept], -rows.d[kept]))  # of equals, the same ones always
        kept = np.sort(kept[order[:most]])
    return rows.at(kept)


def _hits(words: Hashes, samples: Places) -> _Hits:
    keys = np.concatenate([words[:0], *_keys(words, samples)])
    keys.sort()
    first = _starts(keys)
    counts = np.diff(first, append=len(keys))
    keys = keys[first]
    hits = _Hits(keys & ~SAMPLES, (keys & SAMPLES).astype(np.int64), _COUNTS.take(counts, mode="clip"))
    starts = _starts(hits.hashes)
    return hits.where(np.repeat(np.diff(starts, append=len(keys)) >= MIN_SAMPLES, np.diff(starts, append=len(keys))))


def _keys(words: Hashes, samples: Places) -> list[Hashes]:
    """Hash and sample in a number, of all phrases that may occur often enough: those in buckets with several."""
    phrases = [(hashes, samples[first]) for _, hashes, first in phrases_of(words, samples)]
    bits = max(10, min(22, int(8 * len(words) + 1).bit_length()))
    shift = np.uint64(64 - bits)
    buckets = [(hashes >> shift).astype(np.int64) for hashes, _ in phrases]
    counts = np.zeros(1 << bits, np.int64)
    for one in buckets:
        counts += np.bincount(one, minlength=1 << bits)
    often = counts >= MIN_SAMPLES
    kept = [often[one] for one in buckets]
    return [hashes[some] | of[some].astype(np.uint64) for (hashes, of), some in zip(phrases, kept, strict=True)]


def _starts(ordered: Hashes) -> Places:
    """Where each run of equal numbers begins."""
    if not len(ordered):
        return np.zeros(0, np.int64)
    return np.concatenate([[0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1])


def _sums(hits: _Hits, starts: Places, advantages: Floats, rewards: Floats, grouping: Grouping) -> FeatureRows:
    if not len(starts):
        none = np.zeros(0)
        return FeatureRows(hits.hashes, hits.samples, hits.samples, none, none, none, none)

    def total(values: Floats, at: Places = starts) -> Floats:
        sums: Floats = np.add.reduceat(values, at)
        return sums

    groups = grouping.numbers[hits.samples]
    changes = groups[1:] != groups[:-1]
    is_first = np.concatenate([[True], changes])
    is_first[starts] = True
    of_group = np.flatnonzero(is_first)
    own = groups[of_group]
    x = total(hits.x, of_group)
    d = total(hits.x * hits.x, of_group) - x * x / grouping.sizes[own]
    d[d < TINY] = 0
    variances = grouping.variances(advantages)[own]
    rows = np.searchsorted(of_group, starts)
    return FeatureRows(
        hits.hashes[starts],
        np.diff(starts, append=len(hits.hashes)),
        np.add.reduceat(((d > 0) & (variances > 0)).astype(np.int64), rows),
        total(hits.x * advantages[hits.samples]),
        total(hits.x * rewards[hits.samples]),
        total(variances * d, rows),
        total(d, rows),
    )
