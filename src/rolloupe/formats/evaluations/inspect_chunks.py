"""A sample of Inspect in chunks: members below a folder of the archive, put together to the record of one member.

Source: `log/_recorders/chunked/format.py` of inspect_ai 0.3.285. Beside `sample.json` there are `metadata.json` and the
sequences `messages`, `events`, `calls` and `attachments`, in files named by the number of their first item. The
conversation is `message_refs`: ranges of messages. Of sequences, only the chunks that it refers to are read.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from rolloupe.formats.evaluations.inspect_messages import ATTACHMENT
from rolloupe.formats.reading.json_documents import unpacked
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.tables.zip_archives import Members

SHELL = "sample.json"
MAX_MESSAGES = 100_000
MAX_EVENTS = 100_000

_CHUNK = re.compile(r"(?P<start>[0-9]{1,15})\.json")


def sample_in_chunks(members: Members, shell: str) -> Record:
    """Return the record of a sample whose `sample.json` is the member of that name. Raises `Unusable` and OSError."""
    folder = os.path.dirname(shell)
    record = parse(members.read(shell))
    if data := members.read(f"{folder}/metadata.json"):
        record["metadata"] = parse(data)
    if refs := record.pop("message_refs", None):
        record["messages"] = [*_ChunkedList(members, folder, "messages").ranges(refs)]
    elif not record.get("messages"):
        record["events"] = [*_ChunkedList(members, folder, "events").first(MAX_EVENTS)]
    attachments = _ChunkedList(members, folder, "attachments")
    referred = _references([record.get("messages"), record.get("input"), record.get("events")])
    found = {str(number): text for number in sorted(referred) for text in attachments.at(number)}
    own = record.get("attachments")
    record["attachments"] = found | (own if isinstance(own, dict) else {})
    return record


class _ChunkedList:
    """A sequence of a sample; a chunk is read when an item of it is asked for."""

    def __init__(self, members: Members, folder: str, name: str) -> None:
        self._members = members
        prefix = f"{folder}/{name}/"
        found = (_CHUNK.fullmatch(one.removeprefix(prefix)) for one in members.names() if one.startswith(prefix))
        self._starts = sorted(int(match["start"]) for match in found if match)
        self._prefix = prefix
        self._last: tuple[int, list[Any]] = (-1, [])

    def ranges(self, ranges: object) -> Iterator[Any]:
        """Yield the items of ranges, each with a start and an end that does not belong to it. Raises `Unusable`."""
        left = MAX_MESSAGES
        for one in ranges if isinstance(ranges, list) else ():
            if not (isinstance(one, list) and len(one) == 2 and all(type(number) is int for number in one)):
                raise Unusable("its message_refs are no ranges")
            start, stop = one
            left -= max(0, stop - start)
            if left < 0:
                raise Unusable(f"more than {MAX_MESSAGES:,} messages: not read")
            for number in range(start, stop):
                found = [*self.at(number)]
                if not found:
                    raise Unusable(f"its message {number} is in no chunk")
                yield from found

    def first(self, most: int) -> Iterator[Any]:
        """Yield the items from the first on."""
        for number in range(most):
            if not (found := [*self.at(number)]):
                return
            yield from found

    def at(self, number: int) -> list[Any]:
        """Return the item of a number in a list, which is empty without it. Raises `Unusable`."""
        place = bisect_right(self._starts, number) - 1
        if place < 0:
            return []
        start = self._starts[place]
        if self._last[0] != start:
            found = unpacked(self._members.read(f"{self._prefix}{start}.json").decode("utf-8", "replace"))
            if not isinstance(found, list):
                raise Unusable(f"{self._prefix}{start}.json is no list")
            self._last = start, found
        return self._last[1][number - start : number - start + 1]


def _references(value: Any) -> set[int]:
    """The numbers of the attachments that a value refers to."""
    found: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and one.startswith(ATTACHMENT):
            number = one.removeprefix(ATTACHMENT)
            found |= {int(number)} if number.isdecimal() and len(number) < 16 else set()
        elif isinstance(one, list | dict):
            waiting += one.values() if isinstance(one, dict) else one
    return found
