"""Messages of a conversation in the form of a logtree's JSON, from dicts, from objects, and from turns of the model."""

from collections.abc import Iterable, Mapping
from typing import Any

from rolloupe.model import Part, Turn
from rolloupe.record.plain import jsonable, text_of

MAX_URL_CHARS = 500
"""A longer image address is a data URL; its type and size replace it."""

_FIELDS = ("role", "content", "tool_calls", "unparsed_tool_calls", "trainable", "tool_call_id", "name")

Message = dict[str, Any]


def messages_of(values: object) -> list[Message]:
    """Return messages as `{role, content, tool_calls ...}`.

    Takes dicts and objects with these members, in the forms of the cookbook and OpenAI, and `Turn`s. Any other value
    becomes the content of a message with an unknown role.
    """
    listed = values if isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping) else [values]
    return [_message(value) for value in listed]


def _message(value: Any) -> Message:
    if isinstance(value, Turn):
        return _of_turn(value)
    if isinstance(value, Mapping):
        found = {text_of(key): member for key, member in value.items()}
    elif hasattr(value, "role"):
        found = {key: getattr(value, key, None) for key in _FIELDS}
        found = {key: member for key, member in found.items() if member is not None or key in ("role", "content")}
    else:
        return {"role": "unknown", "content": text_of(value)}
    message = {"role": text_of(found.get("role", "unknown")), "content": _content(found.get("content"))}
    for key, member in found.items():
        if key == "tool_calls":
            if member:
                message[key] = [_call(call) for call in (member if isinstance(member, list | tuple) else [member])]
        elif key not in message:
            message[key] = jsonable(member)
    return message


def _content(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        return [_part(part) for part in content]
    return text_of(content) if not isinstance(content, Mapping) else jsonable(content)


def _part(part: Any) -> Any:
    if hasattr(part, "model_dump"):
        part = part.model_dump()
    if not isinstance(part, Mapping):
        return {"type": "text", "text": text_of(part)}
    return {text_of(key): _member(text_of(key), member) for key, member in part.items()}


def _member(key: str, value: Any) -> Any:
    """Return a member of a content part; an image is named, never written out."""
    if isinstance(value, Mapping) and "url" in value:
        return {**jsonable(value), "url": _address(value["url"])}
    return _address(value) if "image" in key or key == "url" else jsonable(value)


def _address(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return f"image, {len(value) // 1024:,} kB"
    size = getattr(value, "size", None)
    if isinstance(size, tuple) and len(size) == 2:  # PIL
        return f"image, {text_of(size[0])} x {text_of(size[1])}"
    found = text_of(value)
    if len(found) <= MAX_URL_CHARS:
        return found
    kind = found[5:].partition(";")[0][:60] if found.startswith("data:") else "image"
    return f"{kind}, {len(found) * 3 // 4 // 1024:,} kB"


def _call(call: Any) -> Any:
    if isinstance(call, Mapping):
        return jsonable(call)
    function = getattr(call, "function", call)
    name, arguments = (getattr(function, key, "") for key in ("name", "arguments"))
    body = {"name": text_of(name), "arguments": arguments if isinstance(arguments, str) else jsonable(arguments)}
    return {"type": "function", "id": jsonable(getattr(call, "id", None)), "function": body}


# Turns of the model


def _of_turn(turn: Turn) -> Message:
    """Return a turn as a message. Thinking and tool calls inside the text stay there."""
    content: list[dict[str, Any]] = []
    apart: dict[str, list[Any]] = {}
    for part in turn.parts:
        if part.raw is None and part.kind == "tool_call" and part.call is not None:
            _add_call(apart, part)
        elif part.raw is None and part.kind in ("think", "image"):
            key = {"think": "thinking", "image": "image"}[part.kind]
            content.append({"type": key, key: part.text})
        else:
            _add_text(content, part.text if part.raw is None else part.raw)
    message: Message = {"role": turn.role, "content": content}
    if not content or (len(content) == 1 and content[0]["type"] == "text"):
        message["content"] = content[0]["text"] if content else ""
    named = {"tool_call_id": turn.tool_call_id, "name": turn.name}
    return message | apart | {key: value for key, value in named.items() if value}


def _add_text(content: list[dict[str, Any]], text: str) -> None:
    if content and content[-1]["type"] == "text":
        content[-1]["text"] += text
    else:
        content.append({"type": "text", "text": text})


def _add_call(apart: dict[str, list[Any]], part: Part) -> None:
    call = part.call
    assert call is not None
    if call.error and not call.name:
        apart.setdefault("unparsed_tool_calls", []).append({"raw_text": call.arguments, "error": call.error})
        return
    function = {"name": call.name, "arguments": call.arguments}
    tool_call = {"type": "function", "id": call.id or None, "function": function}
    apart.setdefault("tool_calls", []).append(tool_call | ({"error": call.error} if call.error else {}))
