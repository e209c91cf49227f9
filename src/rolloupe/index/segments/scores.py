"""Files with a person's own scores: lines of JSON outside the run, which name samples by their places.

A line has `place` (a word that queries make of a sample's place in its file), `metrics` and `tags`. Lines without a
place, such as the first one, say how the scores were made.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rolloupe.formats.reading.line_reader import lines
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Annotation, Problem, Source

SUFFIX = ".jsonl"


class ScoreLine(msgspec.Struct, omit_defaults=True):
    """One line of such a file."""

    place: str = ""
    id: str = ""
    """The id that the sample had, for people who read the file."""
    metrics: dict[str, float] = {}
    tags: dict[str, str] = {}
    about: dict[str, Any] = {}
    """Of the first line: how the scores were made."""


_decode = msgspec.json.Decoder(ScoreLine).decode


def scan_scores(source: Source, start: int, stop: int) -> Iterator[Annotation | Problem]:
    """Yield the scores of the lines that begin in `[start, stop)`."""
    with open_binary(source.location, 2**13) as file:
        for line in lines(file, start, stop):
            try:
                found = _decode(line.data or b"")
            except (msgspec.MsgspecError, ValueError):
                yield Problem(
                    source=source.name, reason="not a line of scores", start=line.start, stop=line.stop,
                    transient=not line.ended,
                )  # fmt: skip
                continue
            if found.place:
                yield Annotation(
                    uid=found.place, start=line.start, length=line.length, metrics=found.metrics, tags=found.tags
                )
