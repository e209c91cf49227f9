"""The turns of a trajectory of the Tinker cookbook, and its texts: from its record, and with the step's log."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.logtree import turns_of
from rolloupe.formats.reading.records import Record
from rolloupe.formats.tinker import steps
from rolloupe.model import Turn


class Tied(NamedTuple):
    """The messages of a trajectory, and the reason for the match. Without `whole` they are its prompt alone."""

    turns: list[Turn]
    whole: bool
    reason: str


def turns_in(record: Record) -> tuple[list[Turn], bool]:
    """Return the turns of a record, and whether its steps found their places among them."""
    step_records = steps.steps_of(record)
    conversation = record.get("conversation")
    if not (isinstance(conversation, list) and fields.is_messages(conversation)):
        return steps.logged_turns(step_records), True
    turns = turns_of(conversation)
    placed = steps.aligned(turns, step_records)
    if not placed:
        for turn in turns[text.first_answer(turns) :]:
            turn.origin = "response"
    return turns, placed or not step_records


def lacks_prompt(turns: Sequence[Turn]) -> bool:
    """Return whether a record lacks a prompt, which the step's log may hold."""
    return not any(turn.origin == "prompt" for turn in turns)


def with_log(turns: list[Turn], record: Record, tied: Tied) -> list[Turn] | None:
    """Return the turns of a record with the contents of the step's log; None if the two contradict."""
    logged = [_copy(turn) for turn in tied.turns]
    if not tied.whole:
        return logged + turns
    return logged if steps.aligned(logged, steps.steps_of(record)) else None


def shows(record: Record, tied: Tied) -> bool:
    """Return whether a sample shows the contents of a step's log: from the log, or from a record with equal turns."""
    turns, _ = turns_in(record)
    if lacks_prompt(turns):
        return with_log(turns, record, tied) is not None
    candidates = iter(turns)
    return all(any(_is_same(turn, one) for one in candidates) for turn in tied.turns)


def _is_same(turn: Turn, other: Turn) -> bool:
    return (turn.role, turn.parts) == (other.role, other.parts)


def _copy(turn: Turn) -> Turn:
    """A copy of a turn that may change, while the log's own stays."""
    copies = {"parts": [*turn.parts], "metrics": {**turn.metrics}, "logs": {**turn.logs}, "facts": {**turn.facts}}
    return replace(turn, **copies)


def messages_in(record: Record, turns: list[Turn]) -> tuple[list[Any] | None, list[Any] | None]:
    """Return the messages of the prompt and of the response, if a conversation has one for each turn."""
    conversation = fields.messages(record.get("conversation"))
    if conversation is None or len(conversation) != len(turns):
        return None, None
    prompt, response = (
        [one for one, turn in zip(conversation, turns, strict=True) if turn.origin == origin]
        for origin in ("prompt", "response")
    )
    return prompt or None, response or None


def texts_of(turns: Sequence[Turn]) -> tuple[str, str]:
    """Return prompt and response as plain text."""
    return _joined(turns, "prompt"), _joined(turns, "response")


def answers_of(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns of the response."""
    return [turn for turn in turns if turn.origin == "response"]


def _joined(turns: Sequence[Turn], origin: str) -> str:
    found = (
        "".join(
            part.text if part.raw is None else part.raw for part in turn.parts if part.kind not in ("image", "json")
        )
        for turn in turns
        if turn.origin == origin
    )
    return "\n\n".join(piece for piece in found if piece)
