"""The conversation of a sample of Inspect: its messages, else what its events tell; attachments in their places."""

from collections.abc import Iterator
from typing import Any

from rolloupe import text
from rolloupe.formats.reading.records import Record

ATTACHMENT = "attachment://"
MAX_ATTACHED_CHARS = 64 * 2**20
"""All attachments in the places of one sample."""
MAX_DEPTH = 20


def conversation(sample: Record) -> tuple[Any, list[Any]]:
    """Return what the model was asked, examples of answers included, and all messages from its first answer on."""
    put = _Attachments(sample.get("attachments")).put
    messages = sample.get("messages")
    listed = messages if isinstance(messages, list) and messages else [*_of_events(sample.get("events"))]
    first = next((number for number, one in enumerate(listed) if _is_answer(one)), None)
    if first is not None:
        answered = put(listed[first:])
        return (put(listed[:first]) if listed[:first] else put(sample.get("input"))), answered
    return put(listed or sample.get("input")), put([*_choices(sample.get("output"))])


def _is_answer(message: object) -> bool:
    return isinstance(message, dict) and text.answers_in([message]) > 0 and message.get("source") != "input"


def _choices(output: object) -> Iterator[Any]:
    choices = output.get("choices") if isinstance(output, dict) else None
    for one in choices[:1] if isinstance(choices, list) else ():
        if isinstance(one, dict) and isinstance(one.get("message"), dict):
            yield one["message"]


def _of_events(events: object) -> Iterator[Any]:
    """The answers of models and the results of tools, in their order."""
    called: set[object] = set()
    for event in events if isinstance(events, list) else ():
        kind = event.get("event") if isinstance(event, dict) else ""
        if kind == "model":
            for message in _choices(event.get("output")):
                calls = message.get("tool_calls")
                called |= {str(one.get("id")) for one in calls or () if isinstance(one, dict)}
                yield message
        elif kind == "tool":
            call_id = str(event.get("id"))
            if call_id not in called:
                call = {"id": call_id, "function": event.get("function"), "arguments": event.get("arguments")}
                yield {"role": "assistant", "content": "", "tool_calls": [call]}
            yield {"role": "tool", "content": _result(event), "tool_call_id": call_id}


def _result(event: Record) -> Any:
    error = event.get("error")
    return error.get("message") if isinstance(error, dict) else event.get("result")


class _Attachments:
    """The attachments of a sample, put into their places, up to a number of characters."""

    def __init__(self, attachments: object) -> None:
        self._texts = attachments if isinstance(attachments, dict) else {}
        self._left = MAX_ATTACHED_CHARS

    def put(self, value: Any, depth: int = 0) -> Any:
        """Return a value in which texts stand for references to them."""
        if not self._texts or depth > MAX_DEPTH:
            return value
        if isinstance(value, str):
            return self._text(value) if value.startswith(ATTACHMENT) else value
        if isinstance(value, list):
            return [self.put(one, depth + 1) for one in value]
        return {key: self.put(one, depth + 1) for key, one in value.items()} if isinstance(value, dict) else value

    def _text(self, reference: str) -> str:
        found = self._texts.get(reference.removeprefix(ATTACHMENT))
        if not isinstance(found, str) or len(found) > self._left:
            return reference
        self._left -= len(found)
        return found
