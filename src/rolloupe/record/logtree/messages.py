"""Messages in the form of a logtree's JSON, from dicts, objects, and turns of the common model."""

import contextlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from rolloupe.model import Turn
from rolloupe.record.plain import jsonable, text_of

MAX_URL_CHARS = 500
"""A longer image address is a data URL: its type and size replace it."""

_FIELDS = ("role", "content", "tool_calls", "unparsed_tool_calls", "trainable", "tool_call_id", "name")

Message = dict[str, Any]


def messages_of(values: object) -> list[Message]:
    """Return messages as `{role, content, tool_calls ...}`.

    Takes dicts and objects with these members, in the forms of the cookbook and OpenAI, and `Turn`s. Any other value
    becomes the content of a message with an unknown role.
    """
    listed = values if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) else [values]
    return [_message(value) for value in listed]


def _message(value: Any) -> Message:
    if isinstance(value, Turn):
        return _of_turn(value)
    if isinstance(value, Mapping):
        members = {text_of(key): member for key, member in value.items()}
    elif hasattr(value, "role"):
        fields = {key: getattr(value, key, None) for key in _FIELDS}
        members = {key: field for key, field in fields.items() if field is not None or key in ("role", "content")}
    else:
        return {"role": "unknown", "content": text_of(value)}
    content = members.get("content")
    if isinstance(content, (list, tuple)):
        content = [_part(part) for part in content]
    elif content is not None and not isinstance(content, str):
        content = jsonable(content) if isinstance(content, Mapping) else text_of(content)
    message: Message = {"role": text_of(members.get("role", "unknown")), "content": content}
    for key, member in members.items():
        if key == "tool_calls":
            if member:
                message[key] = [_call(call) for call in (member if isinstance(member, (list, tuple)) else [member])]
        elif key not in message:
            message[key] = jsonable(member)
    return message


def _part(part: Any) -> Message:
    if hasattr(part, "model_dump"):
        part = part.model_dump()
    if not isinstance(part, Mapping):
        return {"type": "text", "text": text_of(part)}
    members: Message = {}
    for key, value in part.items():
        name = text_of(key)
        if isinstance(value, Mapping) and "url" in value:
            members[name] = {**jsonable(value), "url": _address(value["url"])}
        else:
            members[name] = _address(value) if "image" in name or name == "url" else jsonable(value)
    return members


def _address(value: Any) -> str:
    """Describe an image, which is never written out."""
    if isinstance(value, bytes | bytearray):
        return f"image, {len(value) // 1024:,} kB"
    size = getattr(value, "size", None)
    if isinstance(size, tuple) and len(size) == 2:  # PIL
        return f"image, {text_of(size[0])} x {text_of(size[1])}"
    text = text_of(value)
    if len(text) <= MAX_URL_CHARS:
        return text
    kind = text[5:].partition(";")[0][:60] if text.startswith("data:") else "image"
    return f"{kind}, {len(text) * 3 // 4 // 1024:,} kB"


def _call(call: Any) -> Any:
    if isinstance(call, Mapping):
        return jsonable(call)
    function = getattr(call, "function", call)
    name, arguments = (getattr(function, key, "") for key in ("name", "arguments"))
    body = {"name": text_of(name), "arguments": arguments if isinstance(arguments, str) else jsonable(arguments)}
    return {"type": "function", "id": jsonable(getattr(call, "id", None)), "function": body}


def _of_turn(turn: Turn) -> Message:
    """Return a turn as a message; thinking and tool calls inside its text stay there."""
    content: list[dict[str, Any]] = []
    apart: dict[str, list[Any]] = {}
    for part in turn.parts:
        text = part.text if part.raw is None else part.raw
        if part.raw is None and part.kind == "tool_call" and (call := part.call) is not None:
            if call.error and not call.name:
                unparsed = {"raw_text": call.arguments, "error": call.error}
                apart.setdefault("unparsed_tool_calls", []).append(unparsed)
                continue
            function = {"name": call.name, "arguments": call.arguments}
            tool_call: Message = {"type": "function", "id": call.id or None, "function": function}
            apart.setdefault("tool_calls", []).append(tool_call | ({"error": call.error} if call.error else {}))
        elif part.raw is None and part.kind in ("think", "image"):
            key = "thinking" if part.kind == "think" else "image"
            content.append({"type": key, key: part.text})
        elif part.raw is None and part.kind == "json":
            value: Any = None
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(text)
            is_part = isinstance(value, dict) and value.get("type") != "text"
            content.append(value if is_part else {"type": "text", "text": text})
        elif content and content[-1].get("type") == "text":
            content[-1]["text"] += text
        else:
            content.append({"type": "text", "text": text})
    is_text = len(content) == 1 and content[0].get("type") == "text"
    message: Message = {"role": turn.role, "content": content[0]["text"] if is_text else content or ""}
    named = {"tool_call_id": turn.tool_call_id, "name": turn.name, "stop_reason": turn.stop_reason}
    return message | apart | {key: value for key, value in named.items() if value}
