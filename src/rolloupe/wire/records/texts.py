"""A sample as its record and as one text, in blocks, and places in it."""

from msgspec import Struct

from rolloupe.wire.records.sample import SourceInfo


class RawReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/raw?id=&start=`: a block of the source record, verbatim (invalid UTF-8 replaced)."""

    id: str
    source: SourceInfo
    text: str
    size_bytes: int
    start: int
    """The block is bytes `start` to `stop` of `size_bytes`."""
    stop: int


class TextReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/text?id=&start=`: a block of the sample as one text."""

    id: str
    text: str
    chars: int
    start: int
    """The block is characters `start` to `stop` of `chars`, counted in code points."""
    stop: int
    is_own: bool
    """True if the record holds the text; otherwise it was assembled from messages."""
    origin: str
    """The same, as a sentence."""


class Span(Struct, kw_only=True):
    """A place in the text of a part as the page shows it, in UTF-16 units.

    `at` names the part: `12.3` is part 3 of turn 12, `ref0.1` a part of the reference response, `label` the golden
    answer.
    """

    at: str
    start: int
    stop: int


class FindReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/sample/find?id=&text=`: the places of a text; `spans` are the first of `total`."""

    total: int
    spans: list[Span]
