"""A sample as one text: from its record or put together from its turns; also a system prompt that no template marks."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rolloupe.model import Part, Sample, Turn
from rolloupe.text.blocks import parts
from rolloupe.text.tool_calls import call_text, decoded

OWN_KEYS = ("raw_string", "full_text")
"""Fields with the text that the trainer saw: prompt, template and response in one."""


THINKING = "Thinking:"
_BLOCKS = frozenset(("think", "tool_call", "tool_result", "json", "placeholder", "image"))


class Whole(NamedTuple):
    """A sample as one text. `origin` says where the text comes from, as a sentence for a person."""

    text: str
    is_own: bool
    origin: str


def whole(sample: Sample) -> Whole:
    """Return a sample as one text, with images as the record has them."""
    for key in OWN_KEYS:
        own = sample.extra.get(key)
        if isinstance(own, str) and own:
            return Whole(own, is_own=True, origin=f"The field {key} of the record, as the trainer saw it.")
    written = "".join(verbatim(turn) for turn in sample.turns)
    if written and written == sample.prompt_text + sample.response_text:
        return Whole(written, is_own=True, origin="Prompt and response as the record holds them, with nothing between.")
    put = "\n\n".join(f"[{turn.role}{f' {turn.name}' if turn.name else ''}]\n{verbatim(turn)}" for turn in sample.turns)
    origin = "Put together from the messages: the record does not hold the text that the trainer saw."
    return Whole(put, is_own=False, origin=origin)


def verbatim(turn: Turn) -> str:
    """The text of a turn exactly as written; parts without text are described."""
    return "".join(part.text if part.raw is None else part.raw for part in turn.parts)


def legible(part: Part) -> str:
    """A part as written, but that arguments of calls and JSON of tools stand without escapes; no data of images."""
    if not part.raw or part.media:
        return part.text
    if "\\" not in part.raw:
        return part.raw
    if part.call is not None and not part.call.error and part.text:
        before, _, behind = part.raw.partition(part.text)
        return f"{before}{call_text(part.call)}{behind}"
    return decoded(part.raw) if part.kind in ("text", "tool_result") and part.text not in part.raw else part.raw


def legible_parts(some: Iterable[Part]) -> Iterator[tuple[Part, str]]:
    """Yield the parts of a turn, each `legible`; what a record stores apart from the text begins on a line of its own.

    So do thoughts that no tag marks, under a word that says what they are.
    """
    written, is_thought, is_block = "", False, False
    for part in some:
        shown, was_block = legible(part), is_block
        is_block = part.kind in _BLOCKS and not part.raw
        if written and shown and (is_block or was_block):
            ends = len(written) - len(written.rstrip("\n"))
            shown = "\n" * max(0, (2 if is_thought else 1) - ends) + shown
        is_thought = is_block and part.kind == "think"
        if is_thought:
            shown = shown.replace(part.text, f"{THINKING}\n{part.text}", 1)
        written = shown or written
        yield part, shown


def after(turns: list[Turn], token: str) -> list[Turn]:
    """Cut a prompt without a template at the first `token`: the system prompt before it, the user's after it.

    The token itself stays as a marker. Any other prompt is left as it is.
    """
    asked = [turn for turn in turns if turn.origin == "prompt"]
    if not token or len(asked) != 1 or asked[0].role != "user":
        return turns
    text = verbatim(asked[0])
    at = text.find(token)
    if at < 0 or any(part.raw is None and part.kind in ("image", "json", "tool_call") for part in asked[0].parts):
        return turns
    system = Turn(role="system", parts=parts(text[:at], "system"))
    body = [Part(kind="marker", text=token), *parts(text[at + len(token) :], "user")]
    user = Turn(role="user", parts=body, name=asked[0].name, tokens=asked[0].tokens)
    place = turns.index(asked[0])
    return [*turns[:place], *([system] if at else []), user, *turns[place + 1 :]]
