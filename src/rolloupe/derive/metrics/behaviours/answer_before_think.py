"""1 where an answer (`<answer>`, a box, `####`) stands before the first think block, else 0."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch

ANSWERS = ("<answer>", "\\boxed", "####")
THOUGHTS = ("<think>", "[THINK]", "◁think▷")


def _is_early(response: str) -> bool:
    first = min((at for one in THOUGHTS if (at := response.find(one)) >= 0), default=0)
    return first > 0 and any(0 <= response.find(one) < first for one in ANSWERS)


def _of_batch(batch: SampleBatch) -> BatchValues:
    return [float(_is_early(row.response)) for row in batch.rows]


METRIC = DerivedMetric(
    "answer_before_think", 1, "Answer before thinking", of_batch=_of_batch, behaviour="an answer before the thinking"
)
