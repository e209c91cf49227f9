"""What a grader is given of a sample: plain data, which crosses to another process as JSON."""

from typing import Any

from rolloupe.model import Part, Sample, ToolCall, Turn
from rolloupe.query import SampleItem


def plain_sample(item: SampleItem, sample: Sample) -> dict[str, Any]:
    """The fields of a sample, by the names that `docs/rescore.md` gives."""
    return {
        "id": item.id, "split": item.split, "step": item.step, "group": item.group, "index": item.index,
        "env": item.env, "status": item.status, "reward": _number(item.reward), "advantage": _number(item.advantage),
        "prompt": sample.prompt_text or sample.row.prompt, "response": sample.response_text or sample.row.response,
        "label": sample.label, "metrics": sample.row.metrics | item.metrics, "tags": sample.row.tags | item.tags,
        "turns": [_turn(one) for one in sample.turns],
        "tool_calls": [_call(part.call) for one in sample.turns for part in one.parts if part.call],
        "prompt_messages": sample.prompt_messages, "response_messages": sample.response_messages,
        "extra": sample.extra,
    }  # fmt: skip


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "role": turn.role, "name": turn.name, "origin": turn.origin,
        "text": "".join(_verbatim(part) for part in turn.parts),
        "parts": [{"kind": part.kind, "text": part.text} for part in turn.parts],
        "tool_calls": [_call(part.call) for part in turn.parts if part.call],
    }  # fmt: skip


def _verbatim(part: Part) -> str:
    return part.text if part.raw is None else part.raw


def _call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments, "id": call.id, "error": call.error}
