"""The content of turns, apart from how a layout writes it: for comparing two forms of one transcript."""

import json
from collections.abc import Iterator

from rolloupe.model import Part, ToolCall, Turn


def content(turns: list[Turn]) -> list[tuple[str, str]]:
    """Return kind and text of the parts of turns, without template markers and blank ends."""
    contents = []
    for turn in turns:
        for kind, text in _joined(turn.parts):
            if stripped := text.strip():
                contents.append((kind, stripped))
    return contents


def calls(turns: list[Turn]) -> list[ToolCall]:
    """Return the tool calls of turns."""
    return [part.call for turn in turns for part in turn.parts if part.call is not None]


def media(turns: list[Turn]) -> list[str]:
    """Return the images in turns."""
    return [part.media for turn in turns for part in turn.parts if part.media]


def _joined(parts: list[Part]) -> Iterator[tuple[str, str]]:
    """Yield parts without markers, joining neighbouring texts."""
    text = ""
    for part in parts:
        if part.kind == "text":
            text += part.text
        elif part.kind != "marker":
            yield "text", text
            text = ""
            yield part.kind, _call(part)
    yield "text", text


def _call(part: Part) -> str:
    return f"{part.call.name} {_canonical(part.call.arguments)}" if part.call else part.text


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
