"""Chat messages as frameworks store them: a list of `{role, content, ...}`, in every variant seen.

`message_parts.py` reads a message; here messages become turns, or one text for search. Both have the same words.
"""

from collections.abc import Sequence
from typing import Any, Literal

from rolloupe.model import Part, Turn
from rolloupe.text.blocks import parts
from rolloupe.text.encodable import clean
from rolloupe.text.message_parts import PLAIN_ROLES, ToolResult, encoded, is_item, pieces_of, role_of, uncut
from rolloupe.text.tool_calls import decoded_result

_PLAIN = frozenset(("role", "content", "name", "id", "tool_call_id"))
"""The members of a message of which only the content is text."""

LOG_KEYS = ("error", "is_error", "logs", "info", "metadata")
"""Fields of a message besides its content."""


def from_messages(messages: object, origin: Literal["prompt", "response"] = "prompt") -> list[Turn]:
    """Read chat messages as turns: one each, and one for each result of a tool that stands among other content.

    An entry that is not a message becomes a turn that shows it as JSON.
    """
    entries = messages if isinstance(messages, list) else [messages]
    return [turn for entry in entries for turn in _turns(entry, origin)]


def joined(messages: object, *, thoughts: bool = False) -> str:
    """Return all text of messages (or a text) as one plain text, for search and preview; with `thoughts`, these too.

    Prompts leave out thoughts in fields of their own, because the hash of a prompt names its group.
    """
    if isinstance(messages, str):
        return messages
    entries = messages if isinstance(messages, list) else [messages]
    return "\n\n".join(text for entry in entries if (text := _plain(entry, thoughts=thoughts)))


def first_answer(turns: Sequence[Turn]) -> int:
    """Return the index of the assistant's first turn, or the number of turns."""
    return next((at for at, turn in enumerate(turns) if turn.role == "assistant"), len(turns))


def answer_at(messages: Sequence[Any]) -> int:
    """Return the index of the first message or item of the assistant, or the number of messages."""
    own = (at for at, one in enumerate(messages) if isinstance(one, dict) and role_of(one) == "assistant")
    return next(own, len(messages))


def answers_in(messages: Sequence[Any]) -> int:
    """Count the messages and items of the assistant."""
    return sum(isinstance(one, dict) and role_of(one) == "assistant" for one in messages)


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
        turns.append(_result_turn(piece, entry, origin))
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


def _result_turn(result: ToolResult, entry: dict[str, Any], origin: Literal["prompt", "response"]) -> Turn:
    return Turn(
        role="tool",
        origin=origin,
        parts=result.parts,
        name=result.name,
        tool_call_id=result.call_id or _word(entry.get("tool_call_id")),
        logs={"error" if isinstance(result.error, str) else "is_error": result.error} if result.error else {},
    )


def _plain(entry: object, *, thoughts: bool) -> str:
    if isinstance(entry, str):
        return clean(entry)
    if not isinstance(entry, dict):
        return encoded(entry)
    content = entry.get("content")
    role = entry.get("role")
    if type(role) is str and type(content) is str and role in PLAIN_ROLES and _PLAIN.issuperset(entry):
        return clean(decoded_result(content) if role == "tool" else content)
    role = role_of(entry)
    apart, pieces = pieces_of(entry, role, uncut)
    found = [*(apart if thoughts else ()), *pieces]
    written: list[str] = []
    is_text = False
    for piece in found:
        for part in piece.parts if isinstance(piece, ToolResult) else [piece]:
            if part.kind == "image" or not part.text:
                continue
            if written and not (is_text and part.kind == "text"):
                written.append("\n")
            written.append(part.text)
            is_text = part.kind == "text"
        is_text = is_text and not isinstance(piece, ToolResult)
    if not written and found:  # images alone
        written = [part.text for part in (found[0].parts if isinstance(found[0], ToolResult) else [found[0]])]
    return "".join(written)


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
