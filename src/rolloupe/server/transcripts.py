"""Turns as they cross to the browser: by pages, images by name instead of by data, arguments laid out.

A part of a sample has a name, `at`, which images, finds and highlights share: `12.3` is part 3 of turn 12, `ref0.1` one
of the reference response, `label` the golden answer, `extra.2` the third image among the other fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rolloupe import text
from rolloupe.model import Part, Sample, ToolCall, Turn
from rolloupe.server import wire
from rolloupe.server.replies import plain
from rolloupe.server.wire import number
from rolloupe.text import images

PAGE_TURNS = 2000
PAGE_CHARS = 10_000_000
PART_CHARS = 8_000_000
"""More of a single part is left to the raw record: a browser is handed a text in one piece."""

MAX_IMAGES = 200
"""So many images are looked for among the other fields."""


def page(turns: list[Turn], start: int) -> list[Turn]:
    """The turns from `start` on that are sent at a time: at least one, where there is one."""
    found: list[Turn] = []
    left = PAGE_CHARS
    for turn in turns[start : start + PAGE_TURNS]:
        left -= chars_of(turn)
        if found and left < 0:
            break
        found.append(turn)
    return found


def page_before(turns: list[Turn], stop: int) -> int:
    """Where the page begins that ends at `stop`."""
    start, left = stop, PAGE_CHARS
    while start > max(0, stop - PAGE_TURNS):
        left -= chars_of(turns[start - 1])
        if start < stop and left < 0:
            break
        start -= 1
    return start


def chars_of(turn: Turn) -> int:
    """How long a turn is, without the data of its images."""
    return sum(len(part.text if part.raw is None or part.media else part.raw) for part in turn.parts)


def turn_view(turn: Turn) -> wire.TurnView:
    """A message of the transcript."""
    return wire.TurnView(
        role=turn.role,
        origin=turn.origin,
        name=turn.name,
        tool_call_id=turn.tool_call_id,
        tokens=number(turn.tokens),
        chars=chars_of(turn),
        reward=number(turn.reward),
        stop_reason=turn.stop_reason,
        metrics={name: number(value) for name, value in turn.metrics.items()},
        logs=plain(turn.logs),
        facts=facts_view(turn.facts),
        parts=[part_view(part) for part in turn.parts],
    )


def facts_view(facts: Mapping[str, str | float]) -> dict[str, wire.Number]:
    """Facts in the words of a framework: numbers as numbers, names as texts."""
    return {name: value if isinstance(value, str) else number(value) for name, value in facts.items()}


def part_view(part: Part) -> wire.PartView:
    """A piece of a turn. The data of an image stays here: a browser asks for it as an image."""
    shown = part.text[:PART_CHARS]
    is_cut = len(shown) < len(part.text)
    return wire.PartView(
        kind=part.kind,
        text=shown,
        raw=None if part.media or is_cut or part.raw == part.text else part.raw,
        call=call_view(part.call) if part.call else None,
        closed=part.closed,
        image=bool(part.media),
        cut=len(part.text) - len(shown),
    )


def call_view(call: ToolCall) -> wire.CallView:
    """A tool call."""
    return wire.CallView(name=call.name, arguments=pretty(call.arguments), id=call.id, error=call.error)


def pretty(arguments: str) -> str:
    """JSON laid out for reading, its numbers and escapes untouched; what is no JSON stays as it is."""
    try:
        return msgspec.json.format(arguments, indent=2)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return arguments


def shown_text(part: Part) -> str:
    """What of a part can be found: its text as it is shown."""
    return pretty(part.call.arguments) if part.call else part.text[:PART_CHARS]


def named_texts(sample: Sample) -> Iterator[tuple[str, str]]:
    """Every text of a sample that is shown, by its name, in the order in which it is read."""
    yield "label", sample.label
    for prefix, turns in (("", sample.turns), ("ref", sample.ref_turns)):
        for number_, turn in enumerate(turns):
            for place, part in enumerate(turn.parts):
                yield f"{prefix}{number_}.{place}", shown_text(part)


def media_at(sample: Sample, at: str) -> str | None:
    """The image that a name stands for, as the record holds it."""
    prefix, turns = ("ref", sample.ref_turns) if at.startswith("ref") else ("", sample.turns)
    first, _, second = at.removeprefix(prefix).partition(".")
    if not (second.isascii() and second.isdigit() and len(second) < 10):
        return None
    if first == "extra":
        found = images_of(sample.extra)
        return found[int(second)] if int(second) < len(found) else None
    if not (first.isascii() and first.isdigit() and len(first) < 10) or int(first) >= len(turns):
        return None
    parts = turns[int(first)].parts
    return (parts[int(second)].media or None) if int(second) < len(parts) else None


def images_of(extra: Mapping[str, Any]) -> list[str]:
    """The images among the other fields, in their order."""
    found: list[str] = []
    _collect(extra, found, 0)
    return found


def _collect(value: Any, found: list[str], depth: int) -> None:
    if isinstance(value, str):
        if images.is_image(value):
            found.append(value)
        return
    members = value.values() if isinstance(value, Mapping) else value if _holds_texts(value) else ()
    for member in members:
        if len(found) >= MAX_IMAGES or depth > 20:
            return
        _collect(member, found, depth + 1)


def without_data(value: Any, depth: int = 0) -> Any:
    """The same JSON value, in which an image is what it is called, never its data."""
    if isinstance(value, str):
        return f"({text.clean(images.label(value))})" if images.is_image(value) else value
    if depth > 200:
        return value
    if isinstance(value, Mapping):
        return {key: without_data(item, depth + 1) for key, item in value.items()}
    return [without_data(item, depth + 1) for item in value] if _holds_texts(value) else value


def _holds_texts(value: Any) -> bool:
    """True for a list that may hold texts: one that begins with many numbers is taken for an array of them."""
    return isinstance(value, list) and any(isinstance(item, str | list | dict) for item in value[:64])
