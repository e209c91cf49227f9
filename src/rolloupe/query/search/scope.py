"""The scope of a search in the index: the pieces of a run, newest first, and the rows that a query selects."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rolloupe.index import OpenRun, Piece, Snapshot, StepStats
from rolloupe.query.engine import database
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.relation import PLACE, RowPlace
from rolloupe.query.records import SampleQuery
from rolloupe.query.samples.sorting import ROW_BITS

FIRST_ROWS, MAX_ROWS = 20_000, 2_000_000
"""First and maximum number of rows per statement: the first hits need not wait for the last rows."""

Rows = NDArray[np.int64]


def pieces_of(snapshot: Snapshot, query: SampleQuery, *, oldest_first: bool = False) -> list[Piece]:
    """The pieces that may hold samples of a query, newest step first, or the oldest."""
    pieces = snapshot.holding(query.splits, query.step_min, query.step_max)

    def age(piece: Piece) -> tuple[int, bool, str, int]:
        steps = [stats.step for stats in piece.step_stats if is_in(stats, query)]
        first = min(steps, default=0) if oldest_first else -max(steps, default=0)
        return first, all(stats.split != "train" for stats in piece.step_stats), piece.source, piece.start

    return sorted((piece for piece in pieces if not piece.annotates), key=age)


def is_in(stats: StepStats, query: SampleQuery) -> bool:
    """True if a step is among the splits and steps of a query."""
    return (
        (not query.splits or stats.split in query.splits)
        and (query.step_min is None or stats.step >= query.step_min)
        and (query.step_max is None or stats.step <= query.step_max)
    )


def rows_in(piece: Piece, query: SampleQuery) -> int:
    """The number of samples of a piece in the splits and steps of a query, ignoring its conditions."""
    return sum(stats.rows for stats in piece.step_stats if is_in(stats, query))


def scoped(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece, Rows | None]]:
    """Yield the pieces with the numbers of their rows that a query selects; None means all of them."""
    is_narrow = bool(query.where) or query.group is not None or query.trained is not None
    place, size = 0, FIRST_ROWS
    while place < len(pieces):
        if not is_narrow and not pieces[place].superseded and rows_in(pieces[place], query) == pieces[place].rows:
            yield pieces[place], None
            place += 1
            continue
        chunk, count = [], 0
        while place < len(pieces) and count < size:
            chunk.append(pieces[place])
            count += pieces[place].rows
            place += 1
        yield from _selected(run, snapshot, query, chunk)
        size = min(2 * size, MAX_ROWS)


def _selected(
    run: OpenRun, snapshot: Snapshot, query: SampleQuery, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece, Rows | None]]:
    terms = compile_query(snapshot, query, by_group=False)
    sql = f"{terms.own} SELECT {', '.join(PLACE)} FROM own"
    answer, reading = database.placed(
        run, Question(pieces, sql, terms.where.values, terms.named, overlay=terms.overlay)
    )
    files, rows = (column.to_numpy() for column in answer.columns)
    begins = reading.numbers([RowPlace(piece, 0) for piece in pieces])
    words = np.sort((files << ROW_BITS) | rows)
    for piece, file, begin in zip(pieces, begins[0].to_pylist(), begins[1].to_pylist(), strict=True):
        first = (file << ROW_BITS) | begin
        low, high = np.searchsorted(words, [first, first + piece.rows])
        yield piece, words[low:high] - first
