"""1 where the response has a think block with nothing in it, else 0."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch, SampleView


def _of_sample(sample: SampleView) -> float:
    thoughts = (part for turn in sample.turns for part in turn.parts if part.kind == "think")
    return any(not part.text.strip() for part in thoughts)


def _of_batch(batch: SampleBatch) -> BatchValues:
    empty = [0.0] * len(batch)
    for number, blocks in batch.blocks.items():
        empty[number] = any(one.kind == "think" and not one.inner.strip() for one in blocks)
    return empty


METRIC = DerivedMetric(
    "empty_think", 1, "Empty think block", of_sample=_of_sample, of_batch=_of_batch, reads_turns=True,
    behaviour="an empty think block",
)  # fmt: skip
