"""What looks as if other keys made the groups of a run, from some samples of the newest step of each split."""

import time
from collections.abc import Iterator
from contextlib import suppress

from rolloupe.errors import RolloupeError
from rolloupe.formats.generic.groups import GroupedRow, goes_by_prompt
from rolloupe.formats.generic.groups import group_doubts as doubts_of_rows
from rolloupe.index import OpenRun
from rolloupe.model import Locator
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question

MOST_SPLITS = 4
MOST_STEPS = 16
"""Of a split, the newest steps that together have no more samples than are read."""
MOST_ROWS = 512
MOST_BYTES = 2**23
"""Of records, as they lie in files."""
MOST_S = 0.5
"""For a split: from a store or out of a compressed file, fewer samples are read in that time."""

FIRST = f"""
SELECT source, byte_start, byte_length, part FROM base WHERE split = ? AND step BETWEEN ? AND ?
ORDER BY ordinal, source, byte_start, part LIMIT {MOST_ROWS}
"""
"""The first samples of each file, about equally many of all."""


def group_doubts(run: OpenRun) -> list[str]:
    """What looks as if the groups of a run were others, but only a person can tell: a sentence each.

    Reads up to `MOST_ROWS` samples of each of a few splits. Nothing is doubted that a person asked for.
    """
    if run.info.reading.group_by or not run.wait(0):
        return []
    steps: dict[str, list[int]] = {}
    for split, step in run.snapshot().steps:
        steps.setdefault(split, []).append(step)
    found: dict[str, None] = {}
    for split in sorted(steps, key=lambda name: (name != "train", name))[:MOST_SPLITS]:
        read = _rows(run, split, sorted(steps[split]))
        rows = sorted(read, key=lambda grouped: (grouped.row.step, grouped.file, grouped.row.ordinal))
        found |= dict.fromkeys(doubts_of_rows(rows, is_guessed=run.format.takes_field_map))
    return [*found]


def _rows(run: OpenRun, split: str, steps: list[int]) -> Iterator[GroupedRow]:
    """Yield the first samples of the files of the newest steps."""
    snapshot = run.snapshot()
    low, count = steps[-1], 0
    for step in reversed(steps[-MOST_STEPS:]):
        count += snapshot.steps[split, step].rows
        if count > MOST_ROWS:
            break
        low = step
    pieces = snapshot.holding([split], low, steps[-1])
    size, until = 0, time.monotonic() + MOST_S
    try:
        places = database.ask(run, Question(pieces, FIRST, [split, low, steps[-1]]))
    except RolloupeError:  # the index is being rebuilt
        return
    for name, start, length, part in places:
        size += length
        if size > MOST_BYTES or time.monotonic() > until or (source := run.source(name)) is None:
            return
        found = None
        with suppress(Exception):  # of a file that changes: its own problems say so
            found = run.format.record_at(run.info, source, Locator(source=name, start=start, length=length, part=part))
        if found is None or not (run.format.takes_field_map or goes_by_prompt(found[1])):
            return
        yield GroupedRow(*found, name)
