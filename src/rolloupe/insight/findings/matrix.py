"""The features of the samples that were read again, as a matrix."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import Floats, WithinSums, phrases_of, sums_within
from rolloupe.index.features import hash_of_behaviour
from rolloupe.insight.findings.candidates import Candidates
from rolloupe.insight.findings.selection import Evidence
from rolloupe.query import FeatureSums, Hashes, SampleWords

PART = 2**18
"""How many words to look at together."""

PREFIX_BITS = 16


def phrase_matrix(of: SampleWords, hashes: Hashes) -> Floats:
    """log2(1 + count) of each phrase in each sample, shape (N, C)."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    known = np.zeros(1 << PREFIX_BITS, np.bool_)
    known[(ordered >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)] = True
    counts = np.zeros((of.size, len(hashes)))
    for words, samples in _parts(of):
        for _, found, first in phrases_of(words, samples):
            some = np.flatnonzero(known[(found >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)])
            places = np.searchsorted(ordered, found[some])
            places[places == len(ordered)] = 0
            hit = ordered[places] == found[some] if len(ordered) else np.zeros(0, np.bool_)
            np.add.at(counts, (samples[first[some[hit]]], order[places[hit]]), 1)
    counts += 1
    return np.log2(counts, out=counts)


def _parts(of: SampleWords) -> list[tuple[Hashes, NDArray[np.int64]]]:
    """The words in parts of whole samples."""
    bounds = [0]
    while bounds[-1] < len(of.words):
        last = min(bounds[-1] + PART, len(of.words)) - 1
        bounds.append(int(np.searchsorted(of.samples, of.samples[last], "right")))
    return [(of.words[a:b], of.samples[a:b]) for a, b in pairwise(bounds)]


class FeatureMatrix(NamedTuple):
    """Features of N samples: C phrases, and behind them the behaviours."""

    of: SampleWords
    hashes: Hashes
    """Of the phrases, shape (C,)."""
    behaviours: Sequence[str]
    x: Floats
    """log2(1 + count), shape (N, C + B)."""
    centred: Floats
    """The same, less the mean of each group."""

    def column(self, number: int) -> Floats:
        """log2(1 + count) of a feature."""
        return self.x[:, number]

    def gaps(self, number: int) -> Floats:
        """The same, less the mean of each group."""
        return self.centred[:, number]

    def name(self, number: int) -> str:
        """The behaviour at a column; empty for a phrase."""
        return "" if number < len(self.hashes) else self.behaviours[number - len(self.hashes)]


def feature_matrix(of: SampleWords, chosen: Candidates) -> FeatureMatrix:
    """The candidates and the behaviours of some samples."""
    own = [np.nan_to_num(values) for values in of.behaviours.values()]
    known = [of.grouping.centred(values) for values in of.behaviours.values()]
    phrases = phrase_matrix(of, chosen.hashes)
    centred = [of.grouping.centred(phrases), *(np.nan_to_num(one)[:, None] for one in known)]
    x = np.concatenate([phrases, *(one[:, None] for one in own)], axis=1)
    return FeatureMatrix(of, chosen.hashes, list(of.behaviours), x, np.concatenate(centred, axis=1))


def evidence_of(matrix: FeatureMatrix, features: FeatureSums, squares: float, *, is_whole: bool) -> Evidence:
    """The sums that features are chosen by.

    If not all samples were read again, S and V come from the index, and G from those that were, made as large.
    """
    of = matrix.of
    own = sums_within(matrix.centred, of.advantages, of.rewards, of.grouping)
    gram: Floats = matrix.centred.T @ matrix.centred
    named = np.array([bool(matrix.name(number)) for number in range(len(gram))], np.bool_)
    if is_whole:
        return Evidence(own.s, gram, own.v, float(of.advantages @ of.advantages), named)
    indexed = _of_index(matrix, features)
    scale = np.sqrt(np.divide(indexed.d, own.d, out=np.zeros(len(own.d)), where=own.d > 0))
    return Evidence(indexed.s, gram * np.outer(scale, scale), indexed.v, squares, named)


def _of_index(matrix: FeatureMatrix, features: FeatureSums) -> WithinSums:
    """The sums of the columns over all samples that were scanned."""
    names = [hash_of_behaviour(name) for name in matrix.behaviours]
    wanted = np.concatenate([matrix.hashes, np.array(names, np.uint64)])
    order = np.argsort(features.hashes)
    places = np.minimum(np.searchsorted(features.hashes[order], wanted), max(0, len(order) - 1))
    found = order[places] if len(order) else places
    is_known = features.hashes[found] == wanted if len(order) else np.zeros(len(wanted), np.bool_)
    return WithinSums(
        *(np.where(is_known, one[found], 0) if len(order) else np.zeros(len(wanted)) for one in features.sums)
    )
