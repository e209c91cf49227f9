"""How many characters of the response are thought: think blocks and what messages hold as reasoning."""

from rolloupe.derive.base import BatchValues, DerivedMetric
from rolloupe.derive.batch import SampleBatch, SampleView


def _of_sample(sample: SampleView) -> float:
    parts = (part for turn in sample.turns for part in turn.parts if turn.role == "assistant")
    return sum(len(part.text.strip("\n")) for part in parts if part.kind == "think")


def _of_batch(batch: SampleBatch) -> BatchValues:
    chars = [0.0] * len(batch)
    for number, blocks in batch.blocks.items():
        thoughts = [one.inner.strip("\n") for one in blocks if one.kind == "think" and one.role == "assistant"]
        chars[number] = sum(map(len, thoughts))
    return chars


METRIC = DerivedMetric(
    "think_chars", 2, "Think characters", unit="characters", of_sample=_of_sample, of_batch=_of_batch, reads_turns=True,
    behaviour="length of the thinking",
)  # fmt: skip
