"""How many characters the response has."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch


def _of_batch(batch: SampleBatch) -> BatchValues:
    return [len(row.response) for row in batch.rows]


METRIC = DerivedMetric(
    "characters", 1, "Response characters", unit="characters", of_batch=_of_batch, behaviour="length",
)  # fmt: skip
