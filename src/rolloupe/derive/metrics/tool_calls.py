"""How many calls of tools the response makes, readable or not."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch, SampleView


def _of_sample(sample: SampleView) -> float:
    return sum(part.kind == "tool_call" for turn in sample.turns for part in turn.parts)


def _of_batch(batch: SampleBatch) -> BatchValues:
    calls = [0.0] * len(batch)
    for number, blocks in batch.blocks.items():
        calls[number] = [block.kind for block in blocks].count("tool_call")
    return calls


METRIC = DerivedMetric(
    "tool_calls", 2, "Tool calls", unit="calls", of_sample=_of_sample, of_batch=_of_batch, reads_turns=True,
    behaviour="calling tools",
)  # fmt: skip
