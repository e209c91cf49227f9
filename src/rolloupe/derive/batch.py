"""The input of metrics: one sample, or many at once."""

from collections.abc import Sequence
from functools import cached_property

from rolloupe import text
from rolloupe.derive.blocks import TaggedBlock, blocks_in_turns, blocks_of, may_exceed_parts, places_of
from rolloupe.model import SampleRow, Turn
from rolloupe.text.blocks import CHANNEL, is_stripped


class SampleView:
    """One sample, as a metric sees it: what a scan says of it, with its texts, and its response turn by turn."""

    def __init__(self, row: SampleRow) -> None:
        self.row = row
        self.prompt = row.prompt
        self.response = row.response

    @cached_property
    def turns(self) -> list[Turn]:
        """The turns of the response: the record's own messages, else what the text is made of."""
        messages = self.row.messages
        if messages is None:
            return text.split_response(self.response, prompt=self.prompt)
        raw = [one for one in messages if not isinstance(one, Turn)]
        return list(messages) if not raw else text.from_messages(messages, "response")


class SampleBatch:
    """Some samples, with their texts."""

    def __init__(self, rows: Sequence[SampleRow]) -> None:
        self.rows = rows

    @cached_property
    def views(self) -> list[SampleView]:
        """The samples one by one."""
        return list(map(SampleView, self.rows))

    @cached_property
    def places(self) -> list[Sequence[int]]:
        """For each response, the places where delimiters and turns may begin."""
        return places_of([row.response for row in self.rows])

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def apart(self) -> list[int]:
        """The numbers of the samples to read turn by turn: those recorded as messages, and a few unclear texts."""
        return [number for number, blocks in enumerate(self._blocks) if blocks is None]

    @cached_property
    def blocks(self) -> dict[int, list[TaggedBlock]]:
        """The think blocks, tool calls and results in the other responses, by row; rows without any are left out."""
        return {number: blocks for number, blocks in enumerate(self._blocks) if blocks}

    @cached_property
    def _blocks(self) -> list[list[TaggedBlock] | None]:
        return [_blocks_of(row, places) for row, places in zip(self.rows, self.places, strict=True)]


def _blocks_of(row: SampleRow, places: Sequence[int]) -> list[TaggedBlock] | None:
    response = row.response
    is_bare = text.is_bare(response) or is_stripped(response) or text.has_bare_turns(response, row.prompt)
    if row.messages is not None or is_bare or (places and may_exceed_parts(response)):
        return None
    if places and CHANNEL in response:  # calls of harmony have their names in headers
        return None
    for at in places:
        if text.begins_turn(response, at):
            return blocks_in_turns(response, places, at)
    return blocks_of(response, places) if places else []
