"""A sample as one text, from its record or its turns, and the start of a question in one line.

Also names of groups, the order of names, and system prompts without a template.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rolloupe.model import Part, Sample, Turn
from rolloupe.text.blocks import PLACEHOLDERS, parts
from rolloupe.text.call_summaries import call_block
from rolloupe.text.templates import ROLE_STARTS, bare_question
from rolloupe.text.terminal_output import is_terminal_output
from rolloupe.text.tool_calls import call_text, decoded, decoded_result
from rolloupe.text.tool_results import CallResult, Place, results_of
from rolloupe.text.visible import clean

_BLOCKS = frozenset(("think", "tool_call", "tool_result", "json", "placeholder", "image"))


class Whole(NamedTuple):
    """A sample as one text. `origin` says where the text comes from, as a sentence for a person."""

    text: str
    is_own: bool
    origin: str


def whole(sample: Sample) -> Whole:
    """Return a sample as one text, with images as the record has them."""
    for key in ("raw_string", "full_text"):  # the text that the trainer saw: prompt, template and response in one
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
    """Return the text of a turn exactly as written; parts without text are described."""
    return "".join(part.text if part.raw is None else part.raw for part in turn.parts)


def legible(part: Part) -> str:
    """Return a part as written, with the arguments of calls and JSON of tools unescaped, and without data of images."""
    if not part.raw or part.media:
        return part.text
    if part.kind in ("text", "tool_result") and is_terminal_output(part.raw):
        return part.text
    if "\\" not in part.raw:
        return part.raw
    if part.call is not None and not part.call.error and part.text:
        before, _, behind = part.raw.partition(part.text)
        return f"{before}{call_text(part.call)}{behind}"
    return decoded(part.raw) if part.kind in ("text", "tool_result") and part.text not in part.raw else part.raw


def with_results(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield turns in which each call is a `call_block` followed by its result, which has no turn of its own then."""
    results = results_of(turns)
    owners = {result.turn: place for place, result in results.items()}
    for at, turn in enumerate(turns):
        if at not in owners:
            yield replace(turn, parts=[*_with_results(at, turn, turns, results, owners)])


def _with_results(
    at: int, turn: Turn, turns: Sequence[Turn], results: Mapping[Place, CallResult], owners: Mapping[int, Place]
) -> Iterator[Part]:
    for place, part in enumerate(turn.parts):
        result = results.get((at, place))
        answer = turns[result.turn] if result and owners[result.turn] == (at, place) else None
        if part.call is None or part.call.error:
            yield part
        else:
            yield Part(kind="tool_call", text=call_block(part.call, result, _facts(answer) if answer else ()))
        if answer:
            for own in answer.parts:
                yield replace(own, kind="tool_result", raw=None) if own.kind == "text" else own


def _facts(answer: Turn) -> Iterator[str]:
    """Yield what the turn of a result says besides its text."""
    if answer.tokens is not None:
        yield f"{answer.tokens:,} tokens"
    numbers = {**({} if answer.reward is None else {"reward": answer.reward}), **answer.metrics, **answer.facts}
    yield from (
        f"{name} {value if isinstance(value, str) else format(value, '.4g')}" for name, value in numbers.items()
    )


SHOWN_LINES = 20


def shortened(result: str) -> str:
    """Return a result of a tool without the lines in its middle, if it is long."""
    lines = result.split("\n")
    between = len(lines) - 2 * SHOWN_LINES
    if between <= SHOWN_LINES:
        return result
    return "\n".join([*lines[:SHOWN_LINES], f"… {between:,} lines between", *lines[-SHOWN_LINES:]])


def legible_parts(some: Iterable[Part]) -> Iterator[tuple[Part, str]]:
    """Yield the `legible` parts of a turn; parts stored apart from the text, and untagged thoughts, start a line."""
    written, is_thought, is_block = "", False, False
    for part in some:
        shown, was_block = legible(part), is_block
        is_block = part.kind in _BLOCKS and not part.raw
        if written and shown and (is_block or was_block):
            ends = len(written) - len(written.rstrip("\n"))
            shown = "\n" * max(0, (2 if is_thought else 1) - ends) + shown
        is_thought = is_block and part.kind == "think"
        if is_thought:
            shown = shown.replace(part.text, f"Thinking:\n{part.text}", 1)
        written = shown or written
        yield part, shown


def read_parts(some: Iterable[Part]) -> Iterator[tuple[Part, str]]:
    """Yield the parts of a turn without tags and without JSON of calls; all but plain text starts a line."""
    written, was_block = "", False
    for part in some:
        is_block = part.kind in _UNTAGGED or (part.kind in _BLOCKS and not part.raw)
        shown = _untagged(part)
        if was_block and not is_block:
            shown = shown.lstrip("\n")
        if written.strip() and shown.strip() and (is_block or was_block):
            ends = len(written) - len(written.rstrip("\n"))
            shown = "\n" * max(0, 2 - ends) + shown
        elif was_block and not shown.strip():
            continue
        written, was_block = shown or written, is_block
        yield part, shown


_UNTAGGED = frozenset(("think", "answer", "tool_call", "tool_result"))


def _untagged(part: Part) -> str:
    if part.kind == "think":
        return f"Thinking:\n{part.text.strip()}" if part.text.strip() else ""
    if part.kind == "answer":
        return part.text.strip()
    if part.call is not None and not part.call.error:
        return call_block(part.call)
    return decoded_result(part.text) if part.kind == "tool_result" else legible(part)


def after(turns: list[Turn], token: str) -> list[Turn]:
    """Cut a prompt without a template into a system and a user turn at the first `token`, which becomes a marker."""
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


_NUMBER = re.compile("[0-9]+")


def digest(prompt: str) -> str:
    """Return a name for the group of samples with this prompt, if the framework has none: 12 hex digits."""
    return hashlib.blake2b(prompt.encode("utf-8", "replace"), digest_size=6).hexdigest()


def natural(name: str) -> str:
    """Return a sort key that orders numbers in names by size: `rank2` before `rank10`."""
    return _NUMBER.sub(lambda match: match[0].zfill(20), name)


WINDOW = 8
"""Characters to read for each one shown: some are white space and markers."""

_USER = (
    "<|im_start|>user", "<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<|start|>user<|message|>",
    "<｜User｜>", "<|user|>", "[INST]",
)  # fmt: skip
_MARKER = re.compile(
    r"<\|[^|<>\n]{1,40}\|>(?:(?:user|assistant|system|tool)\n)?|<｜[^｜\n]{1,40}｜>|\[/?INST\]|</?s>|<(?:start|end)_of_turn>(?:user\n|model\n)?"
)
_LONGEST_MARKER = 64
_IMAGE = re.compile(r"data:image/[a-zA-Z0-9.+-]{1,20};base64,[A-Za-z0-9+/_=-]*")
_PLACEHOLDERS = re.compile(f"(?:{'|'.join(map(re.escape, PLACEHOLDERS))})+")
_MOST_IMAGE = 4 * 2**20
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def preview(text: str, limit: int = 240) -> str:
    """Return the start of the user's last turn in a templated prompt, or of any other text; one line of `limit`."""
    start = 0  # where the user's last turn begins, by any template
    if "<" in text or ("[" in text and "[INST]" in text):
        for mark in _USER:
            if (place := text.rfind(mark, max(0, start - len(mark)))) >= 0:
                start = max(start, place + len(mark))
    if not start and text.startswith(ROLE_STARTS) and (question := bare_question(text)) != (0, 0):
        start, text = question[0], text[: question[1]]
    # The end of a window cuts at most one marker: if more room than that is left, the rest changes nothing.
    if text.find("data:image/", start, start + 2 * limit) >= 0:
        text, start = _IMAGE.sub("(image)", text[start : start + _MOST_IMAGE]), 0
    elif _holds_placeholder(text[start : start + limit * WINDOW]):
        text, start = _PLACEHOLDERS.sub(" ", text[start : start + _MOST_IMAGE]), 0
    window = limit + 2 * _LONGEST_MARKER
    plain = _plain(text[start : start + window])
    if len(plain) <= limit + _LONGEST_MARKER and len(text) > start + window:
        plain = _plain(text[start : start + limit * WINDOW])
    return clean(plain) if len(plain) <= limit else f"{clean(plain[:limit].rstrip())}…"


def _holds_placeholder(window: str) -> bool:
    return ("<" in window or "[" in window) and any(word in window for word in PLACEHOLDERS)


def _plain(window: str) -> str:
    if "<" in window or "[" in window:
        window = _MARKER.sub(" ", window)
    return _single_spaced(window) if window.isprintable() else " ".join(_CONTROL.sub(" ", window).split())


def one_line(text: str) -> str:
    """Return a text with each run of white space as one blank, and none at its ends."""
    return _single_spaced(text) if text.isprintable() else " ".join(text.split())


def _single_spaced(text: str) -> str:
    """`one_line` of a text whose only white space is blanks."""
    return " ".join(text.split()) if "  " in text else text.strip(" ")
