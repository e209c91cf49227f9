"""The share of letters in the response that are not Latin; high if a model changes its language in mid-answer."""

import numpy as np

from rolloupe.derive.base import DerivedMetric, SampleBatch
from rolloupe.tokens import Floats


def _of_batch(batch: SampleBatch) -> Floats:
    if batch.joined.is_ascii:
        return np.zeros(len(batch))
    total, others = batch.letters
    shares: Floats = others / np.maximum(total, 1)
    return shares


METRIC = DerivedMetric(
    "non_latin", 2, "Non-Latin letters", of_batch=_of_batch, behaviour="another script than Latin",
    pattern=r"[^\P{L}\p{Latin}]+",
)  # fmt: skip
