"""How many calls of tools the response makes, readable or not."""

from rolloupe.derive.base import DerivedMetric, of_blocks

METRIC = DerivedMetric(
    "tool_calls", 2, "Tool calls", unit="calls", reads_turns=True, behaviour="calling tools",
    of_sample=lambda sample: sum(part.kind == "tool_call" for turn in sample.turns for part in turn.parts),
    of_batch=of_blocks(lambda blocks: sum(block.kind == "tool_call" for block in blocks)),
)  # fmt: skip
