"""Ids from the time when the format `generic` read the run: they name the file, and the sample's start in it.

When a more specific format takes over, group and index become those of the framework, and the place stays. An id that
the run lacks therefore refers to the sample that begins at its place.
"""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

import pyarrow as pa

from rolloupe.errors import NotFound
from rolloupe.formats.reading.files import stem
from rolloupe.index import OpenRun
from rolloupe.model import SampleKey
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question

T = TypeVar("T")

_INDEX = re.compile(r"(?P<file>.+):(?P<start>[0-9]{1,18})", re.DOTALL)

AT_PLACES = """
SELECT nth, split, step, grp, idx
FROM rows JOIN asked ON source = own_file AND (byte_start = own_start OR ends_with(idx, own_end))
ORDER BY nth, ends_with(idx, own_end), part DESC
"""
"""The last row of each counts: of a table, `own_start` is the number of a row, which is at the end of its index too."""


def current_ids(run: OpenRun, keys: Sequence[SampleKey]) -> dict[SampleKey, SampleKey]:
    """Map former ids to current ones; the first sample of a line counts."""
    places = {key: place for key in keys if (place := _place(run, key.index)) is not None}
    pieces = run.snapshot().holding() if places else []
    if not pieces:
        return {}
    former = list(places)
    files, starts = zip(*places.values(), strict=True)
    columns = {"nth": range(len(former)), "own_file": files, "own_start": starts}
    places_table = pa.table(columns | {"own_end": [f":{start}" for start in starts]})
    answer = database.ask(run, Question(pieces, AT_PLACES, tables={"asked": places_table}))
    return {former[nth]: SampleKey(*key) for nth, *key in answer}


def by_former_id(ask: Callable[[OpenRun, SampleKey], T]) -> Callable[[OpenRun, SampleKey], T]:
    """Retry with the current id if a sample is not found by the given id."""

    @wraps(ask)
    def answer(run: OpenRun, key: SampleKey) -> T:
        try:
            return ask(run, key)
        except NotFound:
            current = current_ids(run, [key]).get(key)
            if current is None or current == key:
                raise
            return ask(run, current)

    return answer


def _place(run: OpenRun, index: str) -> tuple[str, int] | None:
    """The file that an index names, relative to the run, and the byte."""
    match = _INDEX.fullmatch(index)
    if match is None:
        return None
    names = [file.name for file in run.sample_files() if file.what == "samples"]
    found = [name for name in names if _is_same(stem(name), match["file"])]
    return (found[0], int(match["start"])) if len(found) == 1 else None


def _is_same(name: str, other: str) -> bool:
    """Return whether two paths are of one file: they may begin at different folders."""
    return f"/{name}".endswith(f"/{other}") or f"/{other}".endswith(f"/{name}")
