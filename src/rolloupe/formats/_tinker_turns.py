"""The steps of a Tinker trajectory as turns, out of what the environment logged for each.

Source: `AgentToolMessageEnv` of tinker-cookbook: `assistant_content`, `tool_call_N` as `name(json)`, `tool_result_N`.
Other environments log under names of their own; texts of those names stay with the turn as logs.
"""

import re
from typing import Any

from rolloupe import text
from rolloupe.formats import _fields as fields
from rolloupe.model import Part, Turn
from rolloupe.text.calls import from_arguments

Step = dict[str, Any]

CONTENT = "assistant_content"
PROMPTS = ("prompt", "question", "problem", "observation", "ob_text", "user_content")
"""Names under which environments log what the model was asked."""
_CALL = re.compile(r"tool_call_(\d{1,6})")
_RESULT = re.compile(r"tool_result_(\d{1,6})")
_WRITTEN = re.compile(r"(?P<name>[^\s(]{1,200})\((?P<arguments>.*)\)", re.DOTALL)


def turns_of(conversation: object, steps: list[Step]) -> list[Turn]:
    """The turns of a trajectory: its conversation where the record has one, else a turn a step."""
    if fields.is_messages(conversation):
        assert isinstance(conversation, list)
        first = next((n for n, m in enumerate(conversation) if m.get("role") == "assistant"), len(conversation))
        return text.from_messages(conversation[:first]) + text.from_messages(conversation[first:], origin="response")
    return [turn for number, step in enumerate(steps) for turn in _turns(step, is_first=number == 0)]


def texts_of(conversation: object, steps: list[Step]) -> tuple[str, str]:
    """Prompt and response as plain text, for search and preview."""
    turns = turns_of(conversation, steps)
    return _joined(turns, "prompt"), _joined(turns, "response")


def _joined(turns: list[Turn], origin: str) -> str:
    bodies = (
        "".join(part.text if part.raw is None else part.raw for part in turn.parts)
        for turn in turns
        if turn.origin == origin
    )
    return "\n\n".join(body for body in bodies if body)


def _turns(step: Step, *, is_first: bool) -> list[Turn]:
    logs = step.get("logs")
    logs = {str(key): value for key, value in logs.items()} if isinstance(logs, dict) else {}
    asked = next((key for key in PROMPTS if isinstance(logs.get(key), str)), None) if is_first else None
    prompt = [Turn(role="user", parts=text.parts(text.clean(logs.pop(asked))))] if asked else []
    return [*prompt, _answer(step, logs), *_results(logs)]


def _answer(step: Step, logs: dict[str, Any]) -> Turn:
    said = logs.get(CONTENT)
    parts = text.parts(text.clean(said)) if isinstance(said, str) else []
    calls = [(int(match[1]), value) for key, value in logs.items() if (match := _CALL.fullmatch(key))]
    parts += [_call(value) for _, value in sorted(calls, key=lambda call: call[0])]
    shown = {key for key in logs if key == CONTENT or _CALL.fullmatch(key) or _RESULT.fullmatch(key)}
    metrics = step.get("metrics")
    numbers = (
        {str(k): n for k, v in metrics.items() if (n := fields.number(v)) is not None}
        if isinstance(metrics, dict)
        else {}
    )
    if (observed := fields.count(step.get("ob_len"))) is not None:
        numbers["ob_len"] = float(observed)
    return Turn(
        role="assistant",
        parts=parts,
        origin="response",
        tokens=fields.count(step.get("ac_len")),
        reward=fields.number(step.get("reward")),
        stop_reason=fields.tag(step.get("stop_reason")) or "",
        metrics=numbers,
        logs={key: fields.showable(value) for key, value in logs.items() if key not in shown},
    )


def _call(value: object) -> Part:
    written = text.clean(fields.as_text(value))
    match = _WRITTEN.fullmatch(written)
    call = from_arguments(match["name"], match["arguments"]) if match else None
    return Part(kind="tool_call", text=written, call=call)


def _results(logs: dict[str, Any]) -> list[Turn]:
    found = [(int(match[1]), value) for key, value in logs.items() if (match := _RESULT.fullmatch(key))]
    return [
        Turn(role="tool", parts=[Part(kind="tool_result", text=text.clean(fields.as_text(value)))], origin="response")
        for _, value in sorted(found, key=lambda result: result[0])
    ]
