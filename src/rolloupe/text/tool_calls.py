"""Name and arguments from the text of a tool call: JSON as most models write it, XML as Qwen3-Coder does."""

import contextlib
import json
import re
from typing import Any

import msgspec

from rolloupe.model import ToolCall

_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>")
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>")
_DECODER = msgspec.json.Decoder(dict[str, Any])
_FENCE = re.compile(r"```(?:json)?\n?|```")


def call_of(inner: str) -> ToolCall:
    """Read the text between the delimiters of a call; malformed text stays as the model wrote it, with the error."""
    body = inner.strip()
    if function := _FUNCTION.match(body):
        return ToolCall(name=function[1], arguments=_dumped(_parameters(body)))
    if "<｜tool▁sep｜>" in body:
        name, _, rest = body.partition("<｜tool▁sep｜>")[2].partition("\n")
        return from_arguments(name.strip(), _FENCE.sub("", rest).strip())
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return ToolCall(name="", arguments=body, error=f"not JSON: {reason}")
    if not isinstance(value, dict):
        return ToolCall(name="", arguments=body, error="not a JSON object")
    return from_object(value)


def is_broken(inner: str) -> bool:
    """True if `call_of` finds an error, in less time."""
    if "<｜tool▁sep｜>" not in inner:
        with contextlib.suppress(ValueError, RecursionError, msgspec.MsgspecError):  # then `call_of` decides
            error = _DECODER.decode(inner).get("error")
            return isinstance(error, str) and bool(error)
    return bool(call_of(inner).error)


def from_object(value: dict[str, Any]) -> ToolCall:
    """Read a call as an object: `{name, arguments}`, OpenAI's `{id, function: {name, arguments}}` and kin."""
    function = value.get("function")
    inner = function if isinstance(function, dict) else value
    name = inner.get("name") if isinstance(inner.get("name"), str) else (function if isinstance(function, str) else "")
    arguments: object = next((inner[key] for key in ("arguments", "parameters", "args", "input") if key in inner), {})
    own = value.get("id")
    error = value.get("error")
    return ToolCall(
        name=str(name or ""),
        arguments=arguments if isinstance(arguments, str) else _dumped(arguments),
        id=own if isinstance(own, str) else "",
        error=error if isinstance(error, str) else "",
    )


def from_arguments(name: str, arguments: str) -> ToolCall:
    """A call with bare arguments."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return ToolCall(name=name, arguments=arguments, error="arguments are not JSON")
    return ToolCall(name=name, arguments=arguments)


def _parameters(body: str) -> dict[str, str]:
    found = {}
    starts = list(_PARAMETER.finditer(body))
    for number, match in enumerate(starts):
        stop = starts[number + 1].start() if number + 1 < len(starts) else len(body)
        value = body[match.end() : stop]
        end = value.find("</parameter>")
        found[match[1]] = (value if end < 0 else value[:end]).strip("\n")
    return found


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return str(type(value).__name__)
