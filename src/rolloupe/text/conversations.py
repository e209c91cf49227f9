"""Whether a value is a conversation, and what its messages are, however it is stored."""

import json
import re
from itertools import zip_longest
from typing import Any

from rolloupe.text.message_parts import KNOWN_ROLES, is_item

HOLDERS = ("messages", "conversations", "conversation", "chat", "trajectory", "history", "turns", "dialog", "items")
"""Members of an object that hold a conversation."""

_CONTENTS = ("content", "value", "parts", "text", "tool_calls", "function_call", "reasoning_content", "refusal")
_MARKS = re.compile(r'(?:role|from|type)\\*"')
_BEFORE_JSON = frozenset("[{ \t\r\n")
MAX_DEPTH = 4


def conversation(value: object) -> list[Any] | None:
    """Return the messages of a conversation, as `from_messages` and `joined` read them; None for anything else.

    A conversation is a list of messages or of items of OpenAI's Responses API, of `[role, content]` pairs, or of such
    messages as JSON; one message alone; an answer of an API, with `choices`, `output` or `candidates`; an object that
    holds one under a usual name, or lists of `actions` and `observations`; or JSON of any of these in a text. No other
    text is a conversation.
    """
    if type(value) is list and value and type(value[0]) is dict and "role" in value[0]:
        return value  # nearly always
    if type(value) is str and value[:1] not in _BEFORE_JSON:
        return None
    return _found(value, 0)


def _found(value: object, depth: int) -> list[Any] | None:
    if isinstance(value, list | tuple):
        return _of_list(list(value) if isinstance(value, tuple) else value)
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return [value] if is_message(value) else _held(value, depth)
    if isinstance(value, str) and (decoded := _decoded(value)) is not None:
        found = _found(decoded, depth + 1)
        return found if found and all(isinstance(one, dict) and _is_certain(one) for one in found) else None
    return None


def is_message(value: object) -> bool:
    """Return whether a value is a chat message, or an item of OpenAI's Responses API."""
    if not isinstance(value, dict):
        return False
    role = value.get("role", value.get("from", value.get("author", value.get("type"))))
    return is_item(value) or (isinstance(role, str | dict) and any(key in value for key in _CONTENTS))


def _is_certain(message: dict[str, Any]) -> bool:
    """Whether JSON in a text is a message and nothing else: its role is a usual one."""
    role = message.get("role", message.get("from", message.get("type")))
    return is_item(message) or (isinstance(role, str) and role.lower() in KNOWN_ROLES)


def _of_list(entries: list[Any]) -> list[Any] | None:
    first = entries[0] if entries else None
    if isinstance(first, dict):
        return entries if is_message(first) and all(isinstance(one, dict) for one in entries) else None
    if isinstance(first, str):
        decoded = [_decoded(one) if isinstance(one, str) else None for one in entries]
        return decoded if all(is_message(one) for one in decoded) else None
    if first and all(_is_pair(one) for one in entries):
        return [{"role": role, "content": content} for role, content in entries]
    return None


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and value[0].lower() in KNOWN_ROLES
    )


def _held(value: dict[str, Any], depth: int) -> list[Any] | None:
    """The conversation that an object holds."""
    choices = value.get("choices", value.get("candidates"))
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict):
        message = first.get("message", first.get("content"))
        if isinstance(message, dict) and "role" not in message:
            message = {"role": "assistant"} | message
        text = first.get("text")
        return _found(message, depth + 1) or (
            [{"role": "assistant", "content": text}] if isinstance(text, str) else None
        )
    if isinstance(value.get("message"), dict):
        return _found(value["message"], depth + 1)
    for key in HOLDERS:
        if found := _found(value.get(key), depth + 1):
            return found
        if key == "history" and isinstance(value.get(key), list) and (found := _of_rounds(value[key])):
            return found
    if value.get("object") == "response":
        return _found(value.get("output"), depth + 1)
    return _of_actions(value.get("actions"), value.get("observations"))


def _of_actions(actions: object, observations: object) -> list[Any] | None:
    """Actions and what an environment showed after each of them, as texts; the last action may have shown nothing."""
    if not isinstance(actions, list) or not isinstance(observations, list) or not actions:
        return None
    is_parallel = 0 <= len(actions) - len(observations) <= 1
    if not is_parallel or not all(isinstance(one, str) for one in (*actions, *observations)):
        return None
    return [
        {"role": role, "content": text}
        for turn in zip_longest(actions, observations)
        for role, text in zip(("assistant", "tool"), turn, strict=True)
        if text is not None
    ]


def _of_rounds(rounds: list[Any]) -> list[Any] | None:
    """Rounds of a question and an answer, as ChatGLM and Gradio keep them."""
    if not rounds or not all(isinstance(one, list | tuple) and len(one) == 2 for one in rounds):
        return None
    texts = [(role, text) for one in rounds for role, text in zip(("user", "assistant"), one, strict=True)]
    if not all(text is None or isinstance(text, str) for _, text in texts):
        return None
    return [{"role": role, "content": text} for role, text in texts if text is not None]


def _decoded(text: str) -> Any:
    """The JSON in a text that may be a conversation."""
    head = text[:64].lstrip()[:1]
    if head not in ("[", "{") or _MARKS.search(text) is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
