"""Finds a text within one sample: its places, in UTF-16 units, as a browser counts them.

It finds only plain text, in linear time whatever the sample contains. The search over a run also takes patterns.
"""

import re

from rolloupe import wire
from rolloupe.model import Sample
from rolloupe.wire.views.transcripts import named_texts

MAX_SPANS = 5000
"""Places to send; further ones are only counted."""

MAX_TEXT = 1000


def find(sample: Sample, wanted: str, *, is_cased: bool) -> wire.FindReply:
    """Return every place of a text, in reading order."""
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
    """Converts ascending positions in a text to UTF-16 units."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_plain = text.isascii()
        self._place = self._units = 0

    def at(self, place: int) -> int:
        """Return the number of code units before a position."""
        if self._is_plain:
            return place
        piece = self._text[self._place : place]
        self._units += len(piece) + sum(char > "\uffff" for char in piece)
        self._place = place
        return self._units
