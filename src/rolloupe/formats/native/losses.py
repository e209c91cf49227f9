"""Data that a recorder reports as never written: token series for which it had no room."""

from functools import lru_cache

from rolloupe.formats.reading import fields
from rolloupe.formats.reading.jsonl import parse
from rolloupe.formats.reading.records import Unusable
from rolloupe.formats.reading.trainer_files import lines_of
from rolloupe.model import Location, Problem, Source
from rolloupe.storage import path_state

DROPPED = "recorder/token_series_dropped"
"""A trainer metric: the number of series that a process has dropped since its start."""


def losses(source: Source) -> list[Problem]:
    """Return the losses of the producer of a metrics file."""
    try:
        state = path_state(source.path)
    except OSError:
        return []
    count = _dropped(source.location, state.st_ino, state.st_size, state.st_mtime_ns)
    reason = f"{count:,} token series were not written, for the recorder had no room: their samples say which"
    return [Problem(source=source.name, reason=reason, transient=True)] if count else []


@lru_cache(maxsize=1000)
def _dropped(location: Location, _inode: int, _size: int, _changed_ns: int) -> int:
    """Sum the losses of all processes: a falling count marks a new process."""
    total = last = 0
    for line in lines_of(location):
        if DROPPED.encode() in line:
            count = _count(line) or last
            total, last = total + (last if count < last else 0), count
    return total + last


def _count(line: bytes) -> int | None:
    try:
        values = parse(line).get("values")
    except Unusable:
        return None
    return fields.count(values.get(DROPPED)) if isinstance(values, dict) else None
