"""The transcript of a sample as layouts store it: one text, or a list of messages.

The writer takes the form that reads back closest to the sample's turns, from these, in order: the messages as stored,
the text as stored, the JSON value in that text, messages made from the turns, and a text in ChatML.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from rolloupe.model import Part, Sample, Turn
from rolloupe.record.logtree.messages import messages_of
from rolloupe.record.writers.comparison import calls, content, of_origin
from rolloupe.text import from_messages

Read = Callable[[object], list[Turn]]


def conversation_of(sample: Sample) -> list[dict[str, Any]]:
    """Return prompt and response as one list of messages, as stored if each message is one turn."""
    if [turn.origin for turn in sample.turns] != sorted(turn.origin for turn in sample.turns):
        return messages_of(sample.turns)
    messages: list[dict[str, Any]] = []
    for origin, stored in (("prompt", sample.prompt_messages), ("response", sample.response_messages)):
        turns = of_origin(sample.turns, origin)
        is_whole = stored is not None and _facts_of(from_messages(stored)) == _facts_of(turns)
        messages += stored if stored is not None and is_whole else messages_of(turns)
    return messages


def prompt_of(sample: Sample, *, messages: bool) -> Any:
    """Return the prompt as text, or, if a layout takes `messages`, as messages if text alone would lose the roles."""
    from rolloupe.formats.reading import value_parsers as parsers

    turns = of_origin(sample.turns, "prompt")
    stored = sample.prompt_messages if messages else None
    return _first_that_fits(stored, sample.prompt_text, turns, parsers.prompt_turns, messages=messages, header=True)


def response_of(sample: Sample, *, messages: bool = False) -> Any:
    """Return the response as `prompt_of` does; without `messages`, several turns become one text in ChatML."""
    from rolloupe.formats.reading import value_parsers as parsers

    turns = of_origin(sample.turns, "response")
    stored = sample.response_messages if messages else None
    read = partial(parsers.response_turns, prompt=sample.prompt_text)
    return _first_that_fits(stored, sample.response_text, turns, read, messages=messages, header=False)


def reference_of(sample: Sample, *, messages: bool = False) -> Any:
    """Return the response of the reference model as `response_of` does; None if the sample has none."""
    from rolloupe.formats.reading import value_parsers as parsers

    if not sample.ref_turns:
        return None
    verbatim = "".join(_raw(part) for turn in sample.ref_turns for part in turn.parts)
    return _first_that_fits(None, verbatim, sample.ref_turns, parsers.response_turns, messages=messages, header=False)


def _first_that_fits(
    stored: list[Any] | None, text: str, turns: list[Turn], read: Read, *, messages: bool, header: bool
) -> Any:
    best, fit = text, 0
    for form in _forms(stored, text, turns, messages=messages, header=header):
        read_back = read(form)
        if _facts_of(read_back) == _facts_of(turns):
            return form
        if [turn.role for turn in read_back] != [turn.role for turn in turns]:
            continue
        score = 3 if content(read_back) == content(turns) else 2 if calls(read_back) == calls(turns) else 1
        if score > fit:
            best, fit = form, score
    return best


def _facts_of(turns: list[Turn]) -> list[Any]:
    return [(turn.role, turn.parts, turn.name, turn.tool_call_id, turn.stop_reason) for turn in turns]


def _forms(stored: list[Any] | None, text: str, turns: list[Turn], *, messages: bool, header: bool) -> Iterator[Any]:
    if stored is not None:
        yield stored
    yield text
    has_json = any(part.kind == "json" for turn in turns for part in turn.parts)
    if has_json and not isinstance(decoded := _decoded(text), str):
        yield decoded
    if messages:
        yield messages_of(turns)
    chatml = ""
    for number, turn in enumerate(turns):
        if header or number or turn.role != "assistant":
            chatml += f"<|im_start|>{turn.role}\n"
        chatml += "".join(map(_raw, turn.parts))
        if header or number + 1 < len(turns):
            chatml += "<|im_end|>\n"
    yield chatml


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _raw(part: Part) -> str:
    """Return the text of a part, with delimiters if its framework stored it separately."""
    if part.raw is not None:
        return part.raw
    if part.kind == "think":
        return f"<think>\n{part.text}\n</think>\n\n"
    if part.kind != "tool_call":
        return part.text
    written = part.text
    if part.call is not None and (part.call.name or not part.call.error):  # a call as models write it
        call = {"name": part.call.name, "arguments": _decoded(part.call.arguments)}
        written = json.dumps(call | ({"id": part.call.id} if part.call.id else {}), ensure_ascii=False)
    return f"<tool_call>\n{written}\n</tool_call>\n"
