"""1 if the response has an empty think block, else 0."""

from rolloupe.derive.base import DerivedMetric, of_blocks

METRIC = DerivedMetric(
    "empty_think", 1, "Empty think block", reads_turns=True, behaviour="an empty think block",
    of_sample=lambda sample: any(p.kind == "think" and not p.text.strip() for turn in sample.turns for p in turn.parts),
    of_batch=of_blocks(lambda blocks: any(block.kind == "think" and not block.inner.strip() for block in blocks)),
)  # fmt: skip
