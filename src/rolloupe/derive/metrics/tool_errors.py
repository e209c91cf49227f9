"""How many tool calls of the response went wrong: calls that cannot be read, and results that report an error."""

import re

from rolloupe import text
from rolloupe.derive.base import DerivedMetric, of_blocks
from rolloupe.derive.blocks import TOOL_TEXT, TaggedBlock
from rolloupe.model import Turn

FIRST_CHARS = 400  # the part of a result that may report an error

_ERROR = re.compile(
    r"""\s*["'{\[(<]*\s*(?:error|traceback|exception|\w*(?:Error|Exception)\b)"""
    r"""|\s*["'{\[(<]*\s*(?:tool|function) (?:call )?(?:error|failed)"""
    r"""|\s*\{\s*"(?:error|is_error)"\s*:\s*(?!null|false|""|0\b)""",
    re.IGNORECASE,
)


def _errors(turn: Turn) -> int:
    calls = sum(part.call is not None and bool(part.call.error) for part in turn.parts if part.kind == "tool_call")
    results = [part for part in turn.parts if part.kind == "tool_result"]
    if turn.role == "tool" and not results:
        is_error = bool(turn.logs.get("is_error") or turn.logs.get("error"))
        return calls + (is_error or reports_error("".join(part.text for part in turn.parts if part.kind == "text")))
    return calls + sum(reports_error(part.text) for part in results)


def reports_error(result: str) -> bool:
    """Return whether a tool result begins like an error report."""
    return _ERROR.match(result[:FIRST_CHARS]) is not None


def _is_error(block: TaggedBlock) -> bool:
    if block.kind == "tool_call":
        return text.is_broken(block.inner)
    if block.kind == TOOL_TEXT:
        return reports_error(block.inner)
    return block.kind == "tool_result" and reports_error(block.inner.strip("\n"))


METRIC = DerivedMetric(
    "tool_errors", 2, "Tool errors", unit="errors", reads_turns=True, behaviour="tool calls that go wrong",
    of_sample=lambda sample: sum(map(_errors, sample.turns)),
    of_batch=of_blocks(lambda blocks: sum(map(_is_error, blocks))),
)  # fmt: skip
