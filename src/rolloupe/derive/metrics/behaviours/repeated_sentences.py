"""How many sentences or lines of the response stood there before, word for word."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch
from rolloupe.derive.sentences import sentences_of


def _repeats(response: str) -> float:
    sentences = sentences_of(response)
    return len(sentences) - len({*sentences})


def _of_batch(batch: SampleBatch) -> BatchValues:
    return [_repeats(row.response) for row in batch.rows]


METRIC = DerivedMetric(
    "repeated_sentences", 1, "Repeated sentences", unit="sentences", of_batch=_of_batch,
    behaviour="the same sentence repeated",
)  # fmt: skip
