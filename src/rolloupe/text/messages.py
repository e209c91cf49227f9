"""Chat messages as frameworks store them: a list of `{role, content, ...}`, in every variant seen."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from rolloupe.model import Part, ToolCall, Turn
from rolloupe.text import images
from rolloupe.text.blocks import parts
from rolloupe.text.encodable import clean
from rolloupe.text.tool_calls import from_object

TEXT_KEYS = ("text", "output_text", "input_text", "refusal")
QUIET = ("image", "json")
"""Parts whose text is not searched."""

LOG_KEYS = ("error", "is_error", "logs", "info", "metadata")
"""Fields of a message besides its content."""

THINK_KEYS = ("thinking", "reasoning", "reasoning_content")


_encode = json.JSONEncoder(ensure_ascii=False).encode
"""Quicker than `json.dumps`, which makes an encoder for each call."""


def from_messages(messages: object, origin: Literal["prompt", "response"] = "prompt") -> list[Turn]:
    """Read chat messages as turns. An entry that is not a message becomes a turn that shows it as JSON."""
    entries = messages if isinstance(messages, list) else [messages]
    return [_turn(entry, origin) for entry in entries]


def joined(messages: object, *, thoughts: bool = False) -> str:
    """Return all text of messages (or a text) as one plain text, for search and preview; with `thoughts`, these too.

    Prompts leave thoughts out, because the hash of a prompt names its group.
    """
    if isinstance(messages, str):
        return messages
    entries = messages if isinstance(messages, list) else [messages]
    return "\n\n".join(text for entry in entries if (text := _plain(entry, thoughts=thoughts)))


def first_answer(turns: Sequence[Turn]) -> int:
    """Return the index of the assistant's first turn, or the number of turns."""
    return next((at for at, turn in enumerate(turns) if turn.role == "assistant"), len(turns))


def _turn(entry: object, origin: Literal["prompt", "response"]) -> Turn:
    if not isinstance(entry, dict):
        return Turn(role="unknown", origin=origin, parts=[Part(kind="json", text=_json(entry))])
    role = _role(entry)
    found: list[Part] = []
    if thought := _thought(entry):
        found.append(Part(kind="think", text=thought))
    found += _content(entry.get("content"), role)
    found += [_call(call) for call in _listed(entry.get("tool_calls"))]
    if isinstance(entry.get("function_call"), dict):
        found.append(_call(entry["function_call"]))
    return Turn(
        role=role,
        origin=origin,
        parts=found,
        name=_word(entry.get("name")),
        tool_call_id=_word(entry.get("tool_call_id")),
        stop_reason=_word(entry.get("stop_reason") or entry.get("finish_reason")),
        logs={key: entry[key] for key in LOG_KEYS if entry.get(key)},
    )


def _role(entry: dict[str, Any]) -> str:
    role = entry.get("role")
    return clean(role).lower() if isinstance(role, str) and role else "unknown"


def _content(content: object, role: str) -> list[Part]:
    if content is None:
        return []
    if isinstance(content, str):
        return parts(clean(content), role)
    if isinstance(content, list):
        return [part for entry in content for part in _entry(entry, role)]
    return [Part(kind="json", text=_json(content))]


def _entry(entry: object, role: str) -> list[Part]:
    text = _text_of(entry)
    if text is not None:
        return parts(text, role)
    if not isinstance(entry, dict):
        return [Part(kind="json", text=_json(entry))]
    for key in THINK_KEYS:
        if isinstance(entry.get(key), str):
            return [Part(kind="think", text=clean(entry[key]))]
    kind = entry.get("type")
    if kind in ("tool_use", "tool_call", "function_call"):
        return [_call(entry)]
    if isinstance(kind, str) and "image" in kind:
        return [_image(entry)]
    return [Part(kind="json", text=_json(entry))]


def _text_of(entry: object) -> str | None:
    """The text of an entry of a message's content; None for anything else, such as an image or a call."""
    if isinstance(entry, str):
        return clean(entry)
    texts = (entry.get(key) for key in TEXT_KEYS) if isinstance(entry, dict) else ()
    return next((clean(text) for text in texts if isinstance(text, str)), None)


def _image(entry: dict[str, Any]) -> Part:
    """An image as OpenAI, Anthropic and Qwen write one. The text describes it and never holds its data."""
    place: Any = next((entry[key] for key in ("image_url", "image", "url", "source", "data") if key in entry), None)
    if isinstance(place, dict):
        place = place.get("url", place.get("data", place.get("bytes")))
    if not isinstance(place, str):
        return Part(kind="image", text="image")
    if images.is_image(place):
        return Part(kind="image", text=clean(images.label(place)), media=place)
    return Part(kind="image", text=clean(place[:200]))


def _call(call: object) -> Part:
    if isinstance(call, str):  # verifiers stores each call as JSON text
        try:
            call = json.loads(call)
        except (ValueError, RecursionError):
            return Part(kind="json", text=clean(str(call)))
    if not isinstance(call, dict):
        return Part(kind="json", text=_json(call))
    return Part(kind="tool_call", text=_json(call), call=from_object(call))


def _thought(entry: dict[str, Any]) -> str:
    """Thoughts of a message that have a field of their own."""
    thought = next((entry[key] for key in ("reasoning_content", "reasoning", "thinking") if key in entry), None)
    return clean(thought) if isinstance(thought, str) else ""


def _plain(entry: object, *, thoughts: bool) -> str:
    if isinstance(entry, str):
        return clean(entry)
    if not isinstance(entry, dict):
        return _json(entry)
    content = entry.get("content")
    body = clean(content) if isinstance(content, str) else "".join(map(_body, _listed(content)))
    calls = map(_called, _listed(entry.get("tool_calls")))
    return "\n".join(piece for piece in [_thought(entry) if thoughts else "", body, *calls] if piece)


def _body(entry: object) -> str:
    """The searchable text of an entry. A text stays as it is, since its parts would join to the same."""
    text = _text_of(entry)
    return "".join(_said(part) for part in _entry(entry, "") if part.kind not in QUIET) if text is None else text


def _called(call: object) -> str:
    """The searchable text of a call, usually without the JSON that a part of it would hold."""
    named = from_object(call) if isinstance(call, dict) else None
    return _words(named) if named is not None and named.name else _said(_call(call))


def _said(part: Part) -> str:
    """A part as text; a call begins with its name, not with its id."""
    return part.text if part.call is None or not part.call.name else _words(part.call)


def _words(call: ToolCall) -> str:
    return " ".join(filter(None, [call.name, call.arguments, call.id]))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _json(value: object) -> str:
    try:
        return clean(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__} that cannot be shown)"
