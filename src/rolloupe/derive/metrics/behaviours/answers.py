"""How many final answers the response gives: boxes, `<answer>`, `####`, "final answer"."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch
from rolloupe.derive.matcher import Matcher

_MATCHER = Matcher(
    r"\\boxed\b",
    r"<answer>",
    r"^####|\n####",
    r"\bfinal answer\b",
)


def _of_batch(batch: SampleBatch) -> BatchValues:
    return _MATCHER.counts([row.response for row in batch.rows])


METRIC = DerivedMetric(
    "answers", 1, "Final answers", unit="answers", of_batch=_of_batch,
    behaviour="giving several final answers", pattern=_MATCHER.expression,
)  # fmt: skip
