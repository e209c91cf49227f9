"""How often each sample has each candidate: the second look, over the words that the index keeps."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rolloupe.features import Floats, phrases_of
from rolloupe.query import Hashes, SampleWords

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
