"""What a recorder says that it never wrote: token series for which it had no room."""

import os
from functools import lru_cache

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.jsonl import Unusable, parse
from rolloupe.formats.reading.trainer_files import lines_of
from rolloupe.model import Location, Problem, Source

DROPPED = "recorder/token_series_dropped"
"""A metric of the trainer: how many a process let go of since it began."""


def losses(source: Source) -> list[Problem]:
    """Tell what the producer of a file of metrics let go of."""
    try:
        state = os.stat(source.path)
    except OSError:
        return []
    count = _dropped(source.location, state.st_ino, state.st_size, state.st_mtime_ns)
    reason = f"{count:,} token series were not written, for the recorder had no room: their samples say which"
    return [Problem(source=source.name, reason=reason, transient=True)] if count else []


@lru_cache(maxsize=1000)
def _dropped(location: Location, _inode: int, _size: int, _changed_ns: int) -> int:
    """The sum over the processes: where the count falls another one began."""
    total = last = 0
    for line in lines_of(location):
        if DROPPED.encode() in line:
            told = _count(line) or last
            total, last = total + (last if told < last else 0), told
    return total + last


def _count(line: bytes) -> int | None:
    try:
        values = parse(line).get("values")
    except Unusable:
        return None
    return fields.count(values.get(DROPPED)) if isinstance(values, dict) else None
