"""How often the response hedges: perhaps, it seems, I am not sure."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"\b(?:perhaps|maybe|possibly|presumably|arguably)\b",
    r"\bit (?:seems|appears|might be|may be|could be)\b",
    r"\bI(?:'m| am) not (?:entirely |completely |quite )?(?:sure|certain)\b",
    r"\bI (?:think|believe|guess|suppose)\b",
)


def _of_batch(batch: SampleBatch) -> BatchValues:
    return _MATCHER.counts([row.response for row in batch.rows])


METRIC = DerivedMetric(
    "hedges", 1, "Hedges", unit="phrases", of_batch=_of_batch,
    behaviour="hedging", pattern=_MATCHER.expression,
)  # fmt: skip
