"""The contents of a chat message in the shapes of many APIs: texts, thoughts, calls, results, images, the rest.

Sources of the shapes: `anthropic/types/*_block.py` of Anthropic's SDK, `openai/types/responses/*` and
`openai/types/chat/*` of OpenAI's, Gemini's `Part`, Bedrock's `ContentBlock`, parts of Vercel's AI SDK, messages of
LangChain, `reasoning_details` of OpenRouter, `thinking_blocks` of LiteLLM, messages of `openai_harmony`, ShareGPT.
Nothing is lost: contents of unknown shape are shown as JSON, without the data of files.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from rolloupe.model import Part, ToolCall
from rolloupe.text import images, templates
from rolloupe.text.blocks import THINK_ENDS, parts
from rolloupe.text.terminal_output import output_part
from rolloupe.text.tool_calls import ARGUMENTS, NAMES, call_of, call_text, from_object, id_of
from rolloupe.text.visible import clean

TEXTS = frozenset(("text", "input_text", "output_text", "refusal"))
THOUGHTS = frozenset((
    "thinking", "reasoning", "reasoning_content", "reasoning_text", "summary_text", "thought", "think",
    "reasoning.text", "reasoning.summary", "reasoning.encrypted", "redacted_thinking", "redacted_reasoning",
))  # fmt: skip
"""Types of blocks that are thoughts."""

THINK_KEYS = ("thinking", "reasoning", "reasoning_content", "thought")
_WORDS_OF_THOUGHTS = (*THINK_KEYS, "content", "summary", "text", "think", "reasoning_text")
_ENCRYPTED = ("encrypted_content", "data", "reasoning", "signature")
FIELDS_OF_THOUGHTS = (
    "reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details", "thinking_blocks",
)  # fmt: skip
"""Fields of a message that hold thoughts apart from its content; several may hold the same."""

_FIELDS = frozenset(FIELDS_OF_THOUGHTS)
_RARE = frozenset(("type", "data", "kwargs", "from", "channel", "refusal", "audio", "images"))
_CONTENTS = ("content", "value", "parts", "text", "utterance")
_RESULTS = ("content", "output", "outputs", "result", "results", "response", "value")
_NOT_ARGUMENTS = frozenset((
    "type", "id", "call_id", "status", "name", "server_label", "output", "outputs", "result", "results", "error",
    "caller", "cache_control",
))  # fmt: skip
_ASIDE = frozenset((
    "role", "from", "author", "name", "id", "type", "object", "model", "timestamp", "created", "created_at", "status",
    "recipient", "tool_call_id", "stop_reason", "finish_reason", "stop_sequence", "channel", "content_type", "source",
    "error", "is_error", "logs", "info", "metadata", "usage", "logprobs", "content", "value", "parts", "text", "index",
    "speaker", "who", "sender",
))  # fmt: skip
"""Members that add nothing to an otherwise empty message."""

_TYPES_OF_MESSAGES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "user": "user"} | {
    role: role for role in ("assistant", "system", "tool", "function", "developer")
}
"""LangChain names the role of a message in its type."""

_ROLES = templates.ROLES | {
    "gpt": "assistant", "chatgpt": "assistant", "chatbot": "assistant", "agent": "assistant", "developer": "developer",
    "function_call": "assistant", "tool_call": "assistant", "function_response": "tool", "tool_result": "tool",
}  # fmt: skip
KNOWN_ROLES = frozenset((*_ROLES, *_ROLES.values(), "ai", "human", "user", "assistant", "system", "tool"))
_CALLING = frozenset(("function_call", "tool_call"))
"""Roles of ShareGPT whose value is a call."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]{400,}\Z")
MAX_TRIES = 200
"""The most thoughts of a message that are searched for in its other thoughts; each search takes linear time."""
MAX_DEPTH = 20
"""The most levels of blocks within blocks; deeper blocks are shown as JSON."""

Cut = Callable[[str, str], list[Part]]
"""Cuts the text of a role into parts."""


class ToolResult(NamedTuple):
    """The result of a tool, which becomes a turn."""

    parts: list[Part]
    call_id: str
    name: str
    error: object
    """True, or the text of the error; falsy without one."""


Content = Part | ToolResult


def role_of(entry: dict[str, Any]) -> str:
    """Return the role of a message in the words of chat templates; for an item without one, its owner's."""
    role = entry.get("role")
    if type(role) is str and role in PLAIN_ROLES:
        return role
    kind = _kind(entry)
    if kind == "constructor" and isinstance(entry.get("kwargs"), dict):  # LangChain's `dumpd`
        return role_of(entry["kwargs"])
    if not (isinstance(role, str) and role):
        author = entry.get("author")
        speaker = entry.get("speaker", entry.get("who", entry.get("sender")))
        role = entry.get("from") or (author.get("role") if isinstance(author, dict) else author) or speaker
    if isinstance(role, str) and role:
        word = clean(role).lower()
        return _ROLES.get(word.strip(), word)
    if is_result(kind):
        return "tool"
    return "assistant" if is_call(kind) or kind in THOUGHTS else _TYPES_OF_MESSAGES.get(kind, "unknown")


PLAIN_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))


def _kind(entry: dict[str, Any]) -> str:
    kind = entry.get("type")
    return kind.replace("-", "_") if isinstance(kind, str) else ""


def is_call(kind: str) -> bool:
    """Return whether blocks of this type are calls, such as `tool_use`, `function_call` and `web_search_call`."""
    return kind.endswith(("tool_use", "_call")) or kind in ("function", "toolCall")


def is_result(kind: str) -> bool:
    """Return whether blocks of this type are results, such as `tool_result` and `function_call_output`."""
    return kind.endswith(("tool_result", "_call_output"))


def is_item(entry: dict[str, Any]) -> bool:
    """Return whether an entry of a conversation is an item, as in OpenAI's Responses API, and no message."""
    kind = _kind(entry)
    return bool(kind) and (is_call(kind) or is_result(kind) or kind in THOUGHTS)


def pieces_of(entry: dict[str, Any], role: str, cut: Cut) -> tuple[list[Part], list[Content]]:
    """Return the contents of a message: thoughts from their own fields, each once, and all else in order."""
    is_plain = _RARE.isdisjoint(entry) and entry.get("role") == role
    if not is_plain:
        inner = entry.get("data", entry.get("kwargs"))
        if isinstance(inner, dict) and "content" in inner and "content" not in entry:  # LangChain's `messages_to_dict`
            entry = inner
        if is_item(entry):
            return [], _block(entry, role, cut, 0)
    content = entry.get("content")
    if content is None:
        content = next((entry[key] for key in _CONTENTS if entry.get(key) is not None), None)
    pieces: list[Content] = _content(content, role, cut, 0)
    if not is_plain:
        speaker, channel = entry.get("from", entry.get("role")), entry.get("channel")
        if isinstance(speaker, str) and speaker in _CALLING and isinstance(content, str):
            pieces = _calls(content)
        elif isinstance(channel, str) and channel:  # of `openai_harmony`
            text, recipient = "".join(piece.text for piece in pieces if isinstance(piece, Part)), entry.get("recipient")
            if isinstance(recipient, str) and recipient not in ("", "all", "assistant", "user"):
                pieces = [_call({"name": recipient.removeprefix("functions."), "arguments": text})]
            elif channel == "analysis" and text:
                pieces = [Part(kind="think", text=text)]
        for key in ("refusal", "audio", "images"):
            if entry.get(key):
                pieces += _aside(key, entry[key], role, cut)
    for key in ("tool_calls", "function_call", "invalid_tool_calls"):
        if entry.get(key):
            pieces += _calls(entry[key])
    thoughts: list[Part] = [] if _FIELDS.isdisjoint(entry) else _thoughts(entry, pieces)
    if not pieces and not thoughts:
        rest = {key: value for key, value in entry.items() if key not in _ASIDE and value}
        rest = {key: value for key, value in rest.items() if isinstance(value, (str, dict, list))}
        pieces = [_json(entry)] if role == "unknown" and entry else [_json(rest)] if rest else []
    return thoughts, pieces


def _content(content: object, role: str, cut: Cut, depth: int) -> list[Content]:
    if isinstance(content, str):
        return [*_text(content, role, cut)]
    if content is None:
        return []
    if isinstance(content, list):
        return [piece for entry in content for piece in _block(entry, role, cut, depth)]
    if isinstance(content, dict) and (_kind(content) or "text" in content):
        return _block(content, role, cut, depth)
    return [_json(content)]


def _text(text: str, role: str, cut: Cut) -> list[Part]:
    """Return the parts of a text; JSON from a tool is shown without escapes, and its colours are styles."""
    text = clean(text)
    if role == "tool" and (part := output_part(text)).raw is not None:
        return [part]
    return cut(text, role)


def _block(entry: object, role: str, cut: Cut, depth: int) -> list[Content]:
    """Return the contents of a block, or of an item."""
    if isinstance(entry, str):
        return [*_text(entry, role, cut)]
    if not isinstance(entry, dict) or depth > MAX_DEPTH:
        return [_json(entry)]
    kind = _kind(entry)
    if not kind and (piece := _of_named_member(entry, cut, depth)):
        return piece
    if kind in TEXTS or (not kind and not entry.get("thought")):
        text = next((entry[key] for key in ("text", *TEXTS) if isinstance(entry.get(key), str)), None)
        if text is not None:
            return [*_text(text, role, cut)]
    if kind in THOUGHTS or (not kind and any(isinstance(entry.get(key) or None, str | bool) for key in THINK_KEYS)):
        return [*_thought_parts(entry)]
    if is_call(kind):
        return _call_and_result(entry, kind, cut, depth)
    if is_result(kind):
        return [_result(entry, cut, depth)]
    if "image" in kind or kind == "computer_screenshot" or (not kind and "image" in entry):
        return [_image(entry)]
    if kind == "logs" and isinstance(entry.get("logs"), str):  # of `code_interpreter_call`
        return [*_text(entry["logs"], role, cut)]
    source = entry.get("source")
    if kind == "document" and isinstance(source, dict) and source.get("type") in ("text", "content"):
        title = entry.get("title")
        head = [Part(kind="text", text=f"{clean(title)}\n")] if isinstance(title, str) and title else []
        return [*head, *_content(source.get("data", source.get("content")), role, cut, depth + 1)]
    return [_json(entry)]


def _of_named_member(entry: dict[str, Any], cut: Cut, depth: int) -> list[Content]:
    """Return the contents of a part of Gemini or a block of Bedrock, which is named by its only member."""
    for key, member in entry.items():
        if not isinstance(member, dict):
            continue
        if key in ("functionCall", "function_call", "toolUse"):
            return [_call(member)]
        if key in ("functionResponse", "function_response", "toolResult"):
            return [_result(member, cut, depth)]
        if key == "executableCode":
            return [_call({"name": "code_execution", "arguments": member})]
        if key == "codeExecutionResult":
            return [_result(member | {"is_error": member.get("outcome") == "OUTCOME_FAILED"}, cut, depth)]
        data = member.get("data")
        if key in ("inlineData", "inline_data") and isinstance(data, str) and images.is_image(data):
            return [_image(member)]
    return []


def _call_and_result(entry: dict[str, Any], kind: str, cut: Cut, depth: int) -> list[Content]:
    """Return a call, and the result in the same item, as APIs have it for tools that they run themselves."""
    tool = kind.removesuffix("_call").removesuffix("_tool_use")
    if any(key in entry for key in (*ARGUMENTS, "function")):
        named = entry if any(key in entry for key in (*NAMES, "function")) else {"name": tool} | entry
    else:
        own = {key: value for key, value in entry.items() if key not in _NOT_ARGUMENTS and value not in (None, [], {})}
        given = next(iter(own.values())) if own.keys() <= {"action", "operation"} and own else own
        named = entry | {"name": entry.get("name") or tool, "arguments": given}
    error = entry.get("error")
    results = (entry.get(key) for key in ("output", "outputs", "result", "results"))
    has_result = bool(error) or any(result not in (None, [], "") for result in results)
    call = _call(named if not error else {key: value for key, value in named.items() if key != "error"})
    return [call, _result(entry, cut, depth)] if has_result else [call]


def _result(entry: dict[str, Any], cut: Cut, depth: int) -> ToolResult:
    content = next((entry[key] for key in _RESULTS if entry.get(key) is not None), None)
    error = next((entry[key] for key in ("is_error", "isError", "error") if entry.get(key)), None)
    error = error or entry.get("status") in ("error", "failed")
    if isinstance(content, dict):
        kind = _kind(content)
        error = error or kind.startswith("error") or kind.endswith("_error")
        if kind in ("text", "json", "error_text", "error_json") and "value" in content:  # Vercel's
            content = content["value"]
    if content is None and isinstance(error, (str, dict)):
        content = error if isinstance(error, str) else error.get("message", error)
    if isinstance(content, str) and images.is_image(content):  # of `image_generation_call`
        content = [{"type": "image", "image": content}]
    inner = _content(content, "tool", cut, depth + 1)
    shown = [part for piece in inner for part in (piece.parts if isinstance(piece, ToolResult) else [piece])]
    name = next((clean(own) for key in NAMES if isinstance(own := entry.get(key), str)), "")
    return ToolResult(shown, id_of(entry), name, error if isinstance(error, str) else bool(error))


def _calls(value: object) -> list[Content]:
    """Return calls, stored as a list or alone; the list or each call may be JSON in a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [_call(value)]
    return [_call(entry) for entry in (value if isinstance(value, list) else [value])]


def _call(entry: object) -> Part:
    if isinstance(entry, str):
        call = call_of(clean(entry))
    elif isinstance(entry, dict):
        call = from_object(entry)
    else:
        return _json(entry)
    if isinstance(entry, dict) and not call.name and call.arguments == "{}":
        call = ToolCall(name="", arguments=encoded(entry), id=call.id, error=call.error)
    return Part(kind="tool_call", text=call_text(call), call=call)


def _aside(key: str, value: object, role: str, cut: Cut) -> list[Content]:
    """Return contents beside `content`: a refusal, a transcript of audio, or images as Ollama stores them."""
    if key == "refusal" and isinstance(value, str):
        return [*cut(clean(value), role)]
    if key == "audio" and isinstance(value, dict) and isinstance(value.get("transcript"), str):
        return [*cut(clean(value["transcript"]), role)]
    if key == "images" and isinstance(value, list):
        return [
            _image({"image": image}) if isinstance(image, str) else piece
            for image in value
            for piece in _block(image, role, cut, 0)
        ]
    return [_json({key: value})]


# Thoughts


def _thoughts(entry: dict[str, Any], pieces: list[Content]) -> list[Part]:
    """Return the thoughts in fields of a message, except those that its content or another field repeats."""
    fields = [entry[key] for key in FIELDS_OF_THOUGHTS if entry.get(key)]
    if not fields:
        return []
    own = [piece for piece in pieces if isinstance(piece, Part) and piece.kind in ("think", "text")]
    may_end = any(part.kind == "think" or any(end in part.text for end in ("</", "[/", "◁/")) for part in own)
    if len(fields) == 1 and isinstance(fields[0], str) and not may_end:  # nearly always
        return [Part(kind="think", text=clean(fields[0]))] if fields[0].strip() else []
    known: list[str] = []
    for part in own:
        is_whole = part.kind == "text" and part.raw is None and any(word in part.text for word in THINK_ENDS)
        within = parts(part.text) if is_whole else [part]
        known += [_squashed(thought.text) for thought in within if thought.kind == "think"]
    thoughts: list[Part] = []
    tries = MAX_TRIES
    for value in fields:
        whole, among = "".join(known), frozenset(known)
        for part in _thought_parts(value):
            words, tries = _squashed(part.text), tries - 1
            if words not in among and not (tries > 0 and words in whole):
                known.append(words)
                thoughts.append(part)
    return thoughts


def _squashed(text: str) -> str:
    return "".join(text.split())


def _thought_parts(value: object) -> list[Part]:
    """Return the thoughts in a field, a block or a list of blocks, with a placeholder for encrypted ones."""
    words = {_squashed(text): clean(text) for text in reversed([*_words_of(value, 0)])}
    words.pop("", None)
    thoughts = [Part(kind="think", text=text) for text in reversed(words.values())]
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict) and not any(map(_squashed, _words_of(entry, 0))):
            data = next((entry[key] for key in _ENCRYPTED if isinstance(entry.get(key), str)), "")
            thoughts += [Part(kind="placeholder", text=f"encrypted thought, {len(data):,} characters")] if data else []
    return thoughts


def _words_of(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        # in Inspect's redacted block, the thought itself is encrypted
        keys = ("summary",) if value.get("redacted") is True else _WORDS_OF_THOUGHTS
        value = [value[key] for key in keys if value.get(key)]
    for entry in value if isinstance(value, list) and depth < MAX_DEPTH else ():
        yield from _words_of(entry, depth + 1)


# Images and the rest


def _image(entry: dict[str, Any]) -> Part:
    """Return an image of OpenAI, Anthropic, Gemini or Qwen. The text describes it and never holds its data."""
    keys = ("image_url", "image", "url", "source", "data", "file_id")
    place: Any = next((entry[key] for key in keys if entry.get(key)), None)
    if isinstance(place, dict):
        place = place.get("url", place.get("data", place.get("bytes", place.get("file_id"))))
    if not isinstance(place, str):
        return Part(kind="image", text="image")
    if images.is_image(place):
        return Part(kind="image", text=clean(images.label(place)), media=place)
    return Part(kind="image", text=clean(place[:200]))


def _json(value: object) -> Part:
    return Part(kind="json", text=encoded(value))


_encode = json.JSONEncoder(ensure_ascii=False).encode
"""Quicker than `json.dumps`, which makes an encoder at each call."""


def encoded(value: object) -> str:
    """Return the JSON of a value, with the sizes of files in place of their data."""
    try:
        return clean(_encode(_without_files(value)))
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__} that cannot be shown)"


def _without_files(value: Any) -> Any:
    if isinstance(value, str) and len(value) >= 400:
        body = value.partition(";base64,")[2] if value.startswith("data:") else value
        return f"(base64, {max(1, len(body) * 3 // 4096):,} kB)" if _BASE64.match(body) else value
    if isinstance(value, dict):
        return {key: _without_files(member) for key, member in value.items()}
    return [_without_files(entry) for entry in value] if isinstance(value, list) else value
