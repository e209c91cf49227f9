"""1 if a think block of the response never ends, else 0."""

from rolloupe.derive.base import DerivedMetric, of_blocks

METRIC = DerivedMetric(
    "unclosed_think", 2, "Unclosed think block", reads_turns=True, behaviour="a think block that never ends",
    of_sample=lambda sample: any(p.kind == "think" and not p.closed for turn in sample.turns for p in turn.parts),
    of_batch=of_blocks(lambda blocks: any(block.kind == "think" and not block.closed for block in blocks)),
)  # fmt: skip
