"""A question about a whole run, asked of some steps at a time, so that each part is short and shows the progress."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct
from msgspec.structs import replace

from rolloupe.index import Snapshot
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.names import is_within
from rolloupe.query.records import SampleQuery

PART_ROWS = 2**20  # so many samples are looked at in about a tenth of a second

FILE_ROWS = 2**10
"""A file takes as long as some thousand samples, where many share a pack, and several times as long where none do."""


class Progress(Struct):
    """How far a list is that someone waits for. All are 0 before the first look, and once the list is there."""

    done: int = 0
    """The number of samples looked at."""
    of: int = 0
    """The number to look at; 0 until a question about a large run begins."""
    found: int = 0
    """The number of samples or groups found among them."""


_watched: ContextVar[Progress | None] = ContextVar("watched", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Keep `progress` up to date with the questions that are asked within."""
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)


def count_found(samples: int) -> None:
    """Count samples, or groups, that a part of a query has found."""
    progress = _watched.get()
    if progress is not None:
        progress.found += samples


def parts_of(snapshot: Snapshot, query: SampleQuery) -> Iterator[SampleQuery]:
    """Divide a query by steps, in their order: each step belongs to one part.

    While a part is in use, the samples of those before it count as done. A query on annotated columns stays whole, for
    each part would look at all annotations.
    """
    rows, costs = Counter[int](), Counter[int]()
    for (split, step), stats in snapshot.steps.items():
        if is_within(query, split, step):
            rows[step] += stats.rows
            costs[step] += stats.rows + FILE_ROWS * len(snapshot.pieces[split, step])
    progress = _watched.get() or Progress()
    progress.done, progress.of, progress.found = 0, rows.total(), 0
    begin, size, cost, left = query.step_min, 0, 0, costs.total()
    most = PART_ROWS
    if left > most:
        overlay = compile_query(snapshot, query, by_group=False).overlay
        most = left if overlay.pieces or overlay.scores else most
    for step in sorted(rows):
        size, cost, left = size + rows[step], cost + costs[step], left - costs[step]
        if cost >= most and left:
            yield replace(query, step_min=begin, step_max=step)
            begin, progress.done, size, cost = step + 1, progress.done + size, 0, 0
    yield replace(query, step_min=begin, step_max=query.step_max)
    progress.done += size
