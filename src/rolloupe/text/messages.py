"""Chat messages, in any form of storage, read as turns or as one text for search.

`message_parts.py` reads the contents of a message. Turns and texts have the same words.
"""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, Literal

from rolloupe.model import Part, Turn
from rolloupe.text.blocks import parts
from rolloupe.text.message_parts import KNOWN_ROLES, PLAIN_ROLES, ToolResult, encoded, is_item, pieces_of, role_of
from rolloupe.text.terminal_output import output_text
from rolloupe.text.visible import clean

HOLDERS = ("messages", "conversations", "conversation", "chat", "trajectory", "history", "turns", "dialog", "items")
"""Members of an object that hold a conversation."""

_CONTENTS = {*"content value parts text utterance tool_calls function_call reasoning_content refusal".split()}
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
    return _conversation(value, 0)


def have_conversation(texts: Iterable[str]) -> bool:
    """Return whether some text holds a conversation."""
    return any(conversation(text) is not None for text in texts if text[:1] in _BEFORE_JSON)


def _conversation(value: object, depth: int) -> list[Any] | None:
    if isinstance(value, (list, tuple)):
        return _of_list(list(value) if isinstance(value, tuple) else value)
    if depth >= MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return [value] if is_message(value) else _of_object(value, depth)
    if isinstance(value, str) and (decoded := _decoded(value)) is not None:
        messages = _conversation(decoded, depth + 1)
        return messages if messages and all(map(_is_certain, messages)) else None
    return None


def is_message(value: object) -> bool:
    """Return whether a value is a chat message, or an item of OpenAI's Responses API."""
    if not isinstance(value, dict):
        return False
    role = value.get("role", value.get("from", value.get("author", value.get("type"))))
    is_said = isinstance(role, (str, dict)) or (role is None and role_of(value) in PLAIN_ROLES)
    return is_item(value) or (is_said and not _CONTENTS.isdisjoint(value))


def _is_certain(message: object) -> bool:
    """Return whether JSON in a text is a message and nothing else: its role is a usual one."""
    if not isinstance(message, dict):
        return False
    role = message.get("role", message.get("from", message.get("type")))
    return is_item(message) or (isinstance(role, str) and role.lower() in KNOWN_ROLES)


def _of_list(entries: list[Any]) -> list[Any] | None:
    first = entries[0] if entries else None
    if isinstance(first, dict):
        return entries if is_message(first) and all(isinstance(entry, dict) for entry in entries) else None
    if isinstance(first, str):
        decoded = [_decoded(entry) if isinstance(entry, str) else None for entry in entries]
        return decoded if all(map(is_message, decoded)) else None
    if not entries or not all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in entries):
        return None
    if not all(isinstance(role, str) and role.lower() in KNOWN_ROLES for role, _ in entries):
        return None
    return [{"role": role, "content": content} for role, content in entries]


def _of_object(value: dict[str, Any], depth: int) -> list[Any] | None:
    choices = value.get("choices", value.get("candidates"))
    first = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(first, dict):
        message = first.get("message", first.get("content"))
        if isinstance(message, dict) and "role" not in message:
            message = {"role": "assistant"} | message
        text = first.get("text")
        answer = [{"role": "assistant", "content": text}] if isinstance(text, str) else None
        return _conversation(message, depth + 1) or answer
    if isinstance(value.get("message"), dict):
        return _conversation(value["message"], depth + 1)
    for key in HOLDERS:
        if messages := _conversation(value.get(key), depth + 1):
            return messages
        if key == "history" and isinstance(value.get(key), list) and (messages := _of_rounds(value[key])):
            return messages
    if value.get("object") == "response":
        return _conversation(value.get("output"), depth + 1)
    actions, observations = value.get("actions"), value.get("observations")
    if not isinstance(actions, list) or not isinstance(observations, list):
        return None
    # an observation follows each action, perhaps not the last
    is_parallel = actions and 0 <= len(actions) - len(observations) <= 1
    if not is_parallel or not all(isinstance(text, str) for text in (*actions, *observations)):
        return None
    return _with_roles(zip_longest(actions, observations), ("assistant", "tool"))


def _of_rounds(rounds: list[Any]) -> list[Any] | None:
    """Return rounds of a question and an answer, as ChatGLM and Gradio keep them."""
    if not rounds or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in rounds):
        return None
    is_text = all(text is None or isinstance(text, str) for pair in rounds for text in pair)
    return _with_roles(rounds, ("user", "assistant")) if is_text else None


def _with_roles(rounds: Iterable[Sequence[str | None]], roles: tuple[str, str]) -> list[Any]:
    texts = [entry for pair in rounds for entry in zip(roles, pair, strict=True)]
    return [{"role": role, "content": text} for role, text in texts if text is not None]


def _decoded(text: str) -> Any:
    """Return the JSON in a text that may be a conversation."""
    if text[:64].lstrip()[:1] not in ("[", "{") or _MARKS.search(text) is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_PLAIN = frozenset(("role", "content", "name", "id", "tool_call_id"))
"""Members of messages whose only text is the content."""

LOG_KEYS = ("error", "is_error", "logs", "info", "metadata")
"""Fields of a message besides its content."""


def from_messages(messages: object, origin: Literal["prompt", "response"] = "prompt") -> list[Turn]:
    """Read chat messages as turns: one each, and one for each result of a tool; other entries are shown as JSON."""
    entries = messages if isinstance(messages, list) else [messages]
    return [turn for entry in entries for turn in _turns(entry, origin)]


_BETWEEN = "\n\n"
"""Between two messages in one text."""


def joined(messages: object, *, thoughts: bool = False) -> str:
    """Return all text of messages as one plain text, for search and preview; with `thoughts`, these too.

    Prompts leave out thoughts in fields of their own, because the hash of a prompt names its group.
    """
    if isinstance(messages, str):
        return messages
    entries = messages if isinstance(messages, list) else [messages]
    return _BETWEEN.join(text for entry in entries if (text := _plain(entry, thoughts=thoughts)))


def question_at(messages: Sequence[Any]) -> int:
    """Return where the user's last message begins in `joined`; 0 without one."""
    own = (at for at, entry in enumerate(messages) if isinstance(entry, dict) and role_of(entry) == "user")
    before = joined(messages[: max(own, default=0)])
    return len(before) + len(_BETWEEN) if before else 0


def first_answer(turns: Sequence[Turn]) -> int:
    """Return the index of the assistant's first turn, or the number of turns."""
    return next((at for at, turn in enumerate(turns) if turn.role == "assistant"), len(turns))


def answer_at(messages: Sequence[Any]) -> int:
    """Return the index of the first message or item of the assistant, or the number of messages."""
    own = (at for at, entry in enumerate(messages) if isinstance(entry, dict) and role_of(entry) == "assistant")
    return next(own, len(messages))


def answers_in(messages: Sequence[Any]) -> int:
    """Count the messages and items of the assistant."""
    return sum(isinstance(entry, dict) and role_of(entry) == "assistant" for entry in messages)


def _turns(entry: object, origin: Literal["prompt", "response"]) -> list[Turn]:
    if not isinstance(entry, dict):
        return [Turn(role="unknown", origin=origin, parts=[Part(kind="json", text=encoded(entry))])]
    role, content = role_of(entry), entry.get("content")
    if len(entry) == 2 and isinstance(content, str) and role != "tool" and entry.get("role") == role:
        return [Turn(role=role, origin=origin, parts=parts(clean(content), role))]
    thoughts, pieces = pieces_of(entry, role, parts)
    turns: list[Turn] = []
    own: list[Part] = list(thoughts)
    for piece in pieces:
        if isinstance(piece, Part):
            own.append(piece)
            continue
        if own:
            turns.append(_turn(entry, role, origin, own))
            own = []
        result = Turn(role="tool", origin=origin, parts=piece.parts, name=piece.name)
        result.tool_call_id = piece.call_id or _word(entry.get("tool_call_id"))
        result.logs = {"error" if isinstance(piece.error, str) else "is_error": piece.error} if piece.error else {}
        turns.append(result)
    if own or not turns:
        turns.append(_turn(entry, role, origin, own))
    if not is_item(entry):
        first = next((turn for turn in turns if turn.role == role), turns[0])
        first.logs = {key: entry[key] for key in LOG_KEYS if entry.get(key)} | first.logs
    return turns


def _turn(entry: dict[str, Any], role: str, origin: Literal["prompt", "response"], own: list[Part]) -> Turn:
    return Turn(
        role=role,
        origin=origin,
        parts=own,
        name="" if is_item(entry) else _word(entry.get("name")),
        tool_call_id=_word(entry.get("tool_call_id")),
        stop_reason=_word(entry.get("stop_reason") or entry.get("finish_reason")),
        logs={"is_error": True} if role == "tool" and entry.get("status") == "error" else {},
    )


def _plain(entry: object, *, thoughts: bool) -> str:
    if isinstance(entry, str):
        return clean(entry)
    if not isinstance(entry, dict):
        return encoded(entry)
    content = entry.get("content")
    role = entry.get("role")
    if type(role) is str and type(content) is str and role in PLAIN_ROLES and _PLAIN.issuperset(entry):
        return clean(output_text(content)[0] if role == "tool" else content)
    role = role_of(entry)
    apart, pieces = pieces_of(entry, role, lambda text, _: [Part(kind="text", text=text)] if text else [])
    shown = [*(apart if thoughts else ()), *pieces]
    written: list[str] = []
    is_text = False
    for piece in shown:
        for part in piece.parts if isinstance(piece, ToolResult) else [piece]:
            if part.kind == "image" or not part.text:
                continue
            if written and not (is_text and part.kind == "text"):
                written.append("\n")
            written.append(part.text)
            is_text = part.kind == "text"
        is_text = is_text and not isinstance(piece, ToolResult)
    if not written and shown:  # images alone
        written = [part.text for part in (shown[0].parts if isinstance(shown[0], ToolResult) else [shown[0]])]
    return "".join(written)


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
