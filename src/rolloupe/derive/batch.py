"""What metrics see: one sample, or many at once."""

from collections.abc import Sequence
from functools import cached_property

from rolloupe import text
from rolloupe.derive.blocks import TaggedBlock, blocks_of, may_have_blocks
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
    def in_turns(self) -> list[int]:
        """The numbers of the samples recorded as messages or turns, or as a text in which a template begins turns."""
        return [n for n, row in enumerate(self.rows) if row.messages is not None or text.may_have_turns(row.response)]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def blocks(self) -> dict[int, list[TaggedBlock]]:
        """The think blocks, tool calls and results in responses of one turn, by row; rows without any are left out."""
        in_turns = {*self.in_turns}
        responses = {
            n: row.response for n, row in enumerate(self.rows) if n not in in_turns and may_have_blocks(row.response)
        }
        return {number: blocks for number, one in responses.items() if (blocks := blocks_of(one))}
