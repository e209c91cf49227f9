"""A text found within one sample: where it stands, in units of UTF-16, which are those of a browser.

Only plain text is looked for: that is linear whatever the sample holds. Patterns are for the search over a run.
"""

import re

from rolloupe.model import Sample
from rolloupe.server import wire
from rolloupe.server.transcripts import named_texts

MAX_SPANS = 5000
"""So many places are sent; the count goes on."""

MAX_TEXT = 1000


def find(sample: Sample, wanted: str, *, is_cased: bool) -> wire.FindReply:
    """Every place of a text, in the order in which the sample is read."""
    pattern = re.compile(re.escape(wanted[:MAX_TEXT]), 0 if is_cased else re.IGNORECASE)
    spans: list[wire.Span] = []
    total = 0
    for at, text in named_texts(sample):
        units = _Units(text)
        for match in pattern.finditer(text):
            total += 1
            if len(spans) < MAX_SPANS:
                spans.append(wire.Span(at=at, start=units.at(match.start()), stop=units.at(match.end())))
    return wire.FindReply(total=total, spans=spans)


class _Units:
    """Places in a text, asked for in ascending order, counted in UTF-16."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_plain = text.isascii()
        self._place = self._units = 0

    def at(self, place: int) -> int:
        """Code units in front of a place."""
        if self._is_plain:
            return place
        piece = self._text[self._place : place]
        self._units += len(piece) + sum(char > "\uffff" for char in piece)
        self._place = place
        return self._units
