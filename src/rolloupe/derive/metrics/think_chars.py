"""How many characters of the response are thought: think blocks and what messages hold as reasoning."""

from rolloupe.derive.base import DerivedMetric, SampleView, of_blocks
from rolloupe.derive.blocks import TaggedBlock


def _of_sample(sample: SampleView) -> float:
    parts = (part for turn in sample.turns for part in turn.parts if turn.role == "assistant")
    return sum(len(part.text.strip("\n")) for part in parts if part.kind == "think")


def _of_response(blocks: list[TaggedBlock]) -> float:
    thoughts = (block for block in blocks if block.kind == "think" and block.role == "assistant")
    return sum(len(block.inner.strip("\n")) for block in thoughts)


METRIC = DerivedMetric(
    "think_chars", 2, "Think characters", unit="characters", reads_turns=True, behaviour="length of the thinking",
    of_sample=_of_sample, of_batch=of_blocks(_of_response),
)  # fmt: skip
