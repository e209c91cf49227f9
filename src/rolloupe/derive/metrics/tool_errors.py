"""How many tool calls of the response went wrong: calls that cannot be read, and results that report an error."""

import re

from rolloupe import text
from rolloupe.derive.base import DerivedMetric, Matcher, SampleBatch
from rolloupe.derive.blocks import TOOL_TEXT, TaggedBlock
from rolloupe.model import Turn

FIRST_CHARS = 400  # the part of a result that may report an error

_ERROR = re.compile(
    r"""[\s"'{\[(<]*(?:error|traceback|exception|(?:\w+\.)*\w*(?:Error|Exception)\b)"""
    r"""|[\s"'{\[(<]*(?:tool|function) (?:call )?(?:error|failed)"""
    r"""|\s*\{\s*"(?:error|is_error)"\s*:\s*(?!null|false|""|0\b)"""
    r"""|\s*(?:HTTP\S* )?[45]\d\d:? (?:Bad|Unauthorized|Forbidden|Not Found|Request|Too Many|Internal|Serv|Gateway)"""
    r"""|.{0,60}\b(?:timed out|connection (?:refused|reset|aborted)|service (?:temporarily )?unavailable)\b"""
    r"""|[\s\S]*\nTraceback \(most recent call last\)""",
    re.IGNORECASE,
)
_TAGS = "output result results information interpreter observation tool_output execution_result stdout stderr".split()
_OPENINGS = (*(f"<{tag}>" for tag in _TAGS), "```output")
"""How results begin in texts without turns, where they follow code or a query."""
_RESULT = re.compile(rf"(?:</(?:code|python|search|query|tool|execute|sql|bash)>|```)\s*(?:{'|'.join(_OPENINGS)})\s*")
_MAY_HAVE_RESULT = Matcher(*_OPENINGS)


def _errors_in(response: str) -> int:
    """Count the results in one text that report an error."""
    return sum(reports_error(response[match.end() : match.end() + FIRST_CHARS]) for match in _RESULT.finditer(response))


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


def _of_batch(batch: SampleBatch) -> list[int]:
    errors = [0] * len(batch)
    for number, own in batch.blocks.items():
        errors[number] = sum(map(_is_error, own))
    for number in _MAY_HAVE_RESULT.samples(batch):
        errors[number] += _errors_in(batch.rows[number].response)
    return errors


METRIC = DerivedMetric(
    "tool_errors", 3, "Tool errors", unit="errors", reads_turns=True, behaviour="tool calls that go wrong",
    of_sample=lambda sample: sum(map(_errors, sample.turns)) + _errors_in(sample.response), of_batch=_of_batch,
)  # fmt: skip
