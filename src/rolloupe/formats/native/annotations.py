"""Annotations of native runs: lines of `annotations/`, joined by uid.

The index supplies their places. Without it, or if a file no longer holds what the index recorded, files are searched.
"""

import os
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from rolloupe import text
from rolloupe.errors import SourceChanged
from rolloupe.formats.prime_rl import annotations
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import files, links_of
from rolloupe.formats.reading.line_reader import parse, strip_bom
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.model import Annotation, Location, Locator, RunInfo, SampleRow, Source

FOLDER = "annotations"
MAX_PLACES = 1000
"""Number of lines to read for one sample, the newest."""

Raw = Callable[[Source, Locator], bytes]


class AnnotationLine(NamedTuple):
    """A line of annotations: its file, named relative to the run, and its content."""

    source: str
    record: Record


def about(run: RunInfo, uid: str, places: Sequence[Locator] | None, raw: Raw) -> tuple[list[AnnotationLine], list[str]]:
    """Return the lines about a sample, oldest first, and the problems of unreadable lines.

    `places` are their places, oldest first; None if unknown. `raw` reads the bytes at a place.
    """
    entries = files(os.path.join(run.root, FOLDER), links_of(run)) if uid and places != [] else []
    entries.sort(key=lambda one: text.natural(one.name))
    locations = {f"{FOLDER}/{entry.name}": entry.location for entry in entries}
    if places is None:
        return _searched(locations, uid)
    lines: list[AnnotationLine] = []
    notes = [f"annotations: of very many the last {MAX_PLACES} count"] if len(places) > MAX_PLACES else []
    for name, file_places in groupby(places[-MAX_PLACES:], key=lambda place: place.source):
        where = locations.get(name)
        found = (
            []
            if where is None
            else _at(Source(path=where.path, name=name, root=where.root), list(file_places), uid, raw)
        )
        if found is None:
            found, more = _searched({name: locations[name]}, uid)
            notes += more
        lines += found
    return lines, notes


def _searched(locations: dict[str, Location], uid: str) -> tuple[list[AnnotationLine], list[str]]:
    lines: list[AnnotationLine] = []
    notes: list[str] = []
    for name, where in locations.items():
        found, problems = annotations.about(where, "uid", uid)
        lines += [AnnotationLine(name, record) for record in found]
        notes += problems
    return lines, notes


def _at(source: Source, places: list[Locator], uid: str, raw: Raw) -> list[AnnotationLine] | None:
    """The lines at some places of a file; None if one of them is no longer about the sample."""
    found = []
    for place in places:
        try:
            record = parse(strip_bom(raw(source, place), place.start))
        except (SourceChanged, Unusable):
            return None
        if fields.name(record.get("uid")) != uid:
            return None
        found.append(AnnotationLine(source.name, record))
    return found


def fold(row: SampleRow, annotation: Annotation) -> None:
    """Let annotations override the values of a sample."""
    row.advantage = row.advantage if annotation.advantage is None else annotation.advantage
    row.discarded = row.discarded if annotation.discarded is None else annotation.discarded
    row.metrics = row.metrics | annotation.metrics
    row.tags = row.tags | annotation.tags
