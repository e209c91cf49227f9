"""Turns for the browser: in pages, with names for images in place of their data, and with formatted arguments.

A part of a sample has a name, `at`, which images, finds and highlights share: `12.3` is part 3 of turn 12, `ref0.1` a
part of the reference response, `label` the golden answer, `extra.2` the third image among the other fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from rolloupe import text, wire
from rolloupe.model import Part, Sample, Turn
from rolloupe.text import images
from rolloupe.wire import number
from rolloupe.wire.encoding import plain

PAGE_TURNS = 2000
PAGE_CHARS = 10_000_000
PART_CHARS = 8_000_000
"""Maximum size of a part, which a browser gets in one piece; the raw record has the rest."""

MAX_IMAGES = 200
"""Maximum number of images to collect from the other fields."""


def page(turns: list[Turn], start: int) -> list[Turn]:
    """Return the turns of a page from `start` on: at least one, if any is left."""
    found: list[Turn] = []
    room = PAGE_CHARS
    for turn in turns[start : start + PAGE_TURNS]:
        room -= chars_of(turn)
        if found and room < 0:
            break
        found.append(turn)
    return found


def page_before(turns: list[Turn], stop: int) -> int:
    """Return the start of the page that ends at `stop`."""
    start, room = stop, PAGE_CHARS
    while start > max(0, stop - PAGE_TURNS):
        room -= chars_of(turns[start - 1])
        if start < stop and room < 0:
            break
        start -= 1
    return start


def chars_of(turn: Turn) -> int:
    """Return the length of a turn, without the data of its images."""
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
    """Return facts under a framework's own names: numbers as numbers, other values as texts."""
    return {name: value if isinstance(value, str) else number(value) for name, value in facts.items()}


def part_view(part: Part) -> wire.PartView:
    """Return a part of a turn. The data of an image stays on the server: a browser requests it separately."""
    shown = part.text[:PART_CHARS]
    is_cut = len(shown) < len(part.text)
    return wire.PartView(
        kind=part.kind,
        text=shown,
        raw=None if part.media or is_cut or part.raw == part.text else part.raw,
        call=part.call and replace(part.call, arguments=text.readable(part.call.arguments)),
        closed=part.closed,
        image=bool(part.media),
        cut=len(part.text) - len(shown),
    )


def shown_text(part: Part) -> str:
    """Return the searchable text of a part: the text as the page shows it."""
    return text.readable(part.call.arguments) if part.call else part.text[:PART_CHARS]


def named_texts(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield every shown text of a sample with its name, in reading order."""
    yield "label", sample.label
    for prefix, turns in (("", sample.turns), ("ref", sample.ref_turns)):
        for number_, turn in enumerate(turns):
            for place, part in enumerate(turn.parts):
                yield f"{prefix}{number_}.{place}", shown_text(part)


def media_at(sample: Sample, at: str) -> str | None:
    """Return the image with this name, as the record holds it."""
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
    """Return the images in the other fields, in order."""
    found: list[str] = []
    _collect(extra, found, 0)
    return found


def _collect(value: Any, addresses: list[str], depth: int) -> None:
    if isinstance(value, str):
        if images.is_image(value):
            addresses.append(value)
        return
    members = value.values() if isinstance(value, Mapping) else value if _holds_texts(value) else ()
    for member in members:
        if len(addresses) >= MAX_IMAGES or depth > 20:
            return
        _collect(member, addresses, depth + 1)


def without_data(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with a description in place of each image's data."""
    if isinstance(value, str):
        return f"({text.clean(images.label(value))})" if images.is_image(value) else value
    if depth > 200:
        return value
    if isinstance(value, Mapping):
        return {key: without_data(item, depth + 1) for key, item in value.items()}
    return [without_data(item, depth + 1) for item in value] if _holds_texts(value) else value


def _holds_texts(value: Any) -> bool:
    """True for a list that may contain texts: a list that begins with many numbers counts as an array of numbers."""
    return isinstance(value, list) and any(isinstance(item, str | list | dict) for item in value[:64])
