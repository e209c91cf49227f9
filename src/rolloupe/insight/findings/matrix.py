"""The features of the samples that were read again, as a matrix."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rolloupe.features import Floats, WithinSums, phrases_of, sums_within
from rolloupe.index.features import hash_of_behaviour
from rolloupe.insight.findings.selection import Candidates, Evidence
from rolloupe.query import FeatureSums, Hashes, SampleWords

ONE_LOOK = threading.Lock()
"""Held while a whole run is searched: that may take hundreds of megabytes, so a process does one search at a time."""

PART = 2**18
"""How many words are counted together."""

PREFIX_BITS = 16


def phrase_matrix(of: SampleWords, hashes: Hashes) -> Floats:
    """Return log2(1 + count) of each phrase in each sample, shape (N, C)."""
    order = np.argsort(hashes)
    ordered = hashes[order]
    known = np.zeros(1 << PREFIX_BITS, np.bool_)
    known[(ordered >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)] = True
    counts = np.zeros((of.size, len(hashes)))
    bounds = [0]  # of parts of whole samples
    while bounds[-1] < len(of.words):
        last = min(bounds[-1] + PART, len(of.words)) - 1
        bounds.append(int(np.searchsorted(of.samples, of.samples[last], "right")))
    for part in map(slice, bounds, bounds[1:]):
        words, samples = of.words[part], of.samples[part]
        for _, phrases, first in phrases_of(words, samples):
            some = np.flatnonzero(known[(phrases >> np.uint64(64 - PREFIX_BITS)).astype(np.int64)])
            places = np.searchsorted(ordered, phrases[some])
            places[places == len(ordered)] = 0
            hit = ordered[places] == phrases[some] if len(ordered) else np.zeros(0, np.bool_)
            np.add.at(counts, (samples[first[some[hit]]], order[places[hit]]), 1)
    counts += 1
    return np.log2(counts, out=counts)


class FeatureMatrix(NamedTuple):
    """Features of N samples: C phrases, then B behaviours."""

    of: SampleWords
    hashes: Hashes
    """Of the phrases, shape (C,)."""
    behaviours: Sequence[str]
    x: Floats
    """log2(1 + count), shape (N, C + B)."""
    centred: Floats
    """`x` less the mean of each group."""

    def name(self, number: int) -> str:
        """Return the behaviour of a column; empty for a phrase."""
        return "" if number < len(self.hashes) else self.behaviours[number - len(self.hashes)]


def feature_matrix(of: SampleWords, chosen: Candidates) -> FeatureMatrix:
    """Return the candidates and the behaviours of some samples."""
    phrases, every = phrase_matrix(of, chosen.hashes), of.behaviours.values()
    x = np.concatenate([phrases, *(np.nan_to_num(values)[:, None] for values in every)], axis=1)
    centred = [of.grouping.centred(phrases), *(np.nan_to_num(of.grouping.centred(v))[:, None] for v in every)]
    return FeatureMatrix(of, chosen.hashes, list(of.behaviours), x, np.concatenate(centred, axis=1))


def evidence_of(matrix: FeatureMatrix, features: FeatureSums, squares: float, *, is_whole: bool) -> Evidence:
    """Return the sums that features are chosen by.

    If only some samples were read again, S and V come from the index, and G from these samples, scaled to all.
    """
    of = matrix.of
    own = sums_within(matrix.centred, of.advantages, of.rewards, of.grouping)
    gram: Floats = matrix.centred.T @ matrix.centred
    named = np.array([bool(matrix.name(number)) for number in range(len(gram))], np.bool_)
    if is_whole:
        return Evidence(own.s, gram, own.v, float(of.advantages @ of.advantages), named)
    names = [hash_of_behaviour(name) for name in matrix.behaviours]
    wanted = np.concatenate([matrix.hashes, np.array(names, np.uint64)])
    _, at_wanted, at_known = np.intersect1d(wanted, features.hashes, return_indices=True)
    indexed = WithinSums(*(np.zeros(len(wanted)) for _ in features.sums))
    for sums, of_features in zip(indexed, features.sums, strict=True):
        sums[at_wanted] = of_features[at_known]
    scale = np.sqrt(np.divide(indexed.d, own.d, out=np.zeros(len(own.d)), where=own.d > 0))
    return Evidence(indexed.s, gram * np.outer(scale, scale), indexed.v, squares, named)
