"""How many sentences or lines of the response repeat an earlier one, word for word."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, SampleBatch
from rolloupe.tokens import Floats


def _of_batch(batch: SampleBatch) -> Floats:
    texts, strings, _ = batch.sentences
    codes = strings.dictionary_encode().indices.to_numpy()
    repeated = np.flatnonzero(np.bincount(codes)[codes] > 1)  # in any of the texts
    texts = texts[repeated]
    first, _ = np.divmod(np.unique(texts * (len(codes) + 1) + codes[repeated]), len(codes) + 1)
    return np.bincount(texts, minlength=len(batch)) - np.bincount(first, minlength=len(batch)).astype(np.float64)


METRIC = DerivedMetric(
    "repeated_sentences", 3, "Repeated sentences", unit="sentences", behaviour="the same sentence repeated",
    of_batch=_of_batch,
)  # fmt: skip
