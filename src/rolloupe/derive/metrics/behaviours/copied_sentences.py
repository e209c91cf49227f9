"""How many sentences or lines of the response the prompt has too, word for word; short ones do not count."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch
from rolloupe.derive.sentences import sentences_of

LONG = 20
"""A copied sentence has so many characters at least."""


def _copies(prompt: str, response: str) -> float:
    known = {one for one in sentences_of(prompt) if len(one) >= LONG}
    return sum(one in known for one in sentences_of(response)) if known else 0.0


def _of_batch(batch: SampleBatch) -> BatchValues:
    return [_copies(row.prompt, row.response) for row in batch.rows]


METRIC = DerivedMetric(
    "copied_sentences", 1, "Sentences of the prompt", unit="sentences", of_batch=_of_batch,
    behaviour="copying sentences of the prompt",
)  # fmt: skip
