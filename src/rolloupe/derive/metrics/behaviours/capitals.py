"""The share of the letters of the response that belong to words of four capitals or more; constants do not count."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, Matcher, SampleBatch
from rolloupe.tokens import Floats

_MATCHER = Matcher(
    r"(?-i:\b[A-Z]{4,}\b)",
    r"(?-i:[^\P{Lu}A-Z]{4,})",  # of other alphabets, where \b says nothing
)


def _of_batch(batch: SampleBatch) -> Floats:
    texts = batch.written
    shares = _MATCHER.of_batch(batch, lambda matches: sum(map(len, matches)))
    for number in np.flatnonzero(shares).tolist():
        shares[number] /= sum(map(str.isalpha, texts[number]))
    return shares


METRIC = DerivedMetric(
    "capitals", 2, "Capitals", of_batch=_of_batch,
    behaviour="shouting in capitals", pattern=_MATCHER.expression,
)  # fmt: skip
