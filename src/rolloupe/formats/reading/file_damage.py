"""Damage in the JSON files beside samples, which are read on request and never indexed.

An unfinished last line is still being written, so it is not damage.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import msgspec

from rolloupe.formats.reading.files import JSONL, plain_name
from rolloupe.formats.reading.jsonl import JsonlFormat, why_no_text
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.stream import is_decoded, open_binary
from rolloupe.formats.reading.trainer_files import MAX_BYTES, document, read_bytes
from rolloupe.model import Problem, RunInfo, Scanned, Source
from rolloupe.storage import path_state, stamp_of_state

MAX_LISTED = 100
"""Maximum number of problems to list for one file."""

KEPT_FILES = 1000


class _Lines(JsonlFormat):
    """Lines to check for damage alone."""

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:  # noqa: ARG002
        step_of(record.get("step"))
        return []


_LINES = _Lines()
_NO_RUN = RunInfo(name="", root="", format="", reason="", parts=())


def damage(source: Source) -> list[Problem]:
    """List the damage in a file of JSON lines, or in a JSON document. A missing file has none."""
    try:
        return list(_damage(source, *stamp_of_state(path_state(source.path))))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Problem(source=source.name, reason=f"could not be read: {error.strerror}", transient=True)]


def read(source: Source, start: int, length: int) -> bytes:
    """Return bytes of such a file, fewer at its end. Raises `SourceChanged`."""
    return _LINES.read(source, start, length)


@lru_cache(maxsize=KEPT_FILES)
def _damage(source: Source, _inode: int, _size: int, _changed_ns: int) -> tuple[Problem, ...]:
    found = _of_lines(source) if plain_name(source.path).endswith(JSONL) else _of_document(source)
    listed = [msgspec.structs.replace(one, transient=True) for one in islice(found, MAX_LISTED + 1)]
    if len(listed) > MAX_LISTED:
        reason = f"more than {MAX_LISTED} problems in this file: the others are not listed"
        listed[MAX_LISTED:] = [Problem(source=source.name, reason=reason, transient=True)]
    return tuple(listed)


def _of_lines(source: Source) -> Iterator[Problem]:
    with open_binary(source.location) as file:
        may_grow = not is_decoded(file)
        file.seek(MAX_BYTES)
        is_cut = bool(file.read(1))
    for item in _LINES.scan(_NO_RUN, source, 0, MAX_BYTES):
        if isinstance(item, Problem) and not (item.transient and may_grow):
            yield item
    if is_cut:
        reason = f"longer than {MAX_BYTES // 2**20} MiB: what is behind them is not read"
        yield Problem(source=source.name, reason=reason, start=MAX_BYTES)


def _of_document(source: Source) -> Iterator[Problem]:
    data = read_bytes(source.location)
    try:
        document(data)
    except Unusable as error:
        reason = why_no_text(data, len(data)) or str(error)
        yield Problem(source=source.name, reason=reason, start=0, stop=len(data))
