"""Values of samples from one of their token series."""

from collections.abc import Callable, Sequence

import numpy as np

from rolloupe.model import LARGEST
from rolloupe.tokens import Floats, Reduced, TokenBatch

KL = ("kl", "kl_k3")
"""The KL to the reference: as the framework recorded it, else k3."""


def of_series(names: Sequence[str], value: Callable[[Reduced], Floats]) -> Callable[[TokenBatch], Floats]:
    """Return what computes a value of the first of these series that samples have; NaN for samples without it."""

    def of_tokens(batch: TokenBatch) -> Floats:
        name = next((one for one in names if one in batch.series), None)
        if name is None:
            return np.full(len(batch.rows), np.nan)
        return value(batch.reduced(name))

    return of_tokens


def largest(reduced: Reduced) -> Floats:
    """Return the largest value of each sample; an infinite one is the largest number, which columns can sort."""
    return np.clip(reduced.maxima, -LARGEST, LARGEST)


def mean(reduced: Reduced) -> Floats:
    """Return the mean of each sample."""
    return reduced.means
