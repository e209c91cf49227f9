"""What metrics see: one sample, or many at once."""

from collections.abc import Sequence
from functools import cached_property

from rolloupe import text
from rolloupe.derive.blocks import TaggedBlock, blocks_of
from rolloupe.derive.places import places_of
from rolloupe.model import SampleRow, Turn


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
            return text.split_response(self.response)
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

    @cached_property
    def in_turns(self) -> list[int]:
        """The numbers of the samples recorded as messages or turns, or as a text in which a template begins turns."""
        return [
            number
            for number, (row, places) in enumerate(zip(self.rows, self.places, strict=True))
            if row.messages is not None
            or any(text.begins_turn(row.response, at) for at in places)
            or text.is_bare(row.response)
        ]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def blocks(self) -> dict[int, list[TaggedBlock]]:
        """The think blocks, tool calls and results in responses of one turn, by row; rows without any are left out."""
        in_turns = {*self.in_turns}
        some = (number for number, places in enumerate(self.places) if places and number not in in_turns)
        found = ((number, blocks_of(self.rows[number].response, self.places[number])) for number in some)
        return {number: blocks for number, blocks in found if blocks}
