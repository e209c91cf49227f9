"""1 where a think block of the response never ends, else 0."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch, SampleView


def _of_sample(sample: SampleView) -> float:
    return any(part.kind == "think" and not part.closed for turn in sample.turns for part in turn.parts)


def _of_batch(batch: SampleBatch) -> BatchValues:
    unclosed = [0.0] * len(batch)
    for number, blocks in batch.blocks.items():
        unclosed[number] = any(not one.closed and one.kind == "think" for one in blocks)
    return unclosed


METRIC = DerivedMetric(
    "unclosed_think", 2, "Unclosed think block", of_sample=_of_sample, of_batch=_of_batch, reads_turns=True,
    behaviour="a think block that never ends",
)  # fmt: skip
