"""The steps of every prompt of a run, in memory: which files to ask about a prompt, and whether it appears again.

They are read once from each piece of the index. A run that grows adds its new pieces, so nothing takes longer in a
large run than in a small one.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.lru import Lru
from rolloupe.query.engine import database

KEPT_BYTES = 64 * 2**20
QUICK_ROWS = 200_000
"""`count_steps` reads no more rows than these: 15 ms."""
MOST_CHUNKS = 32
"""Of small chunks, which have `QUICK_ROWS` together: more of them become one."""

EVERY = """
SELECT DISTINCT prompt_hash, number, launch FROM rows JOIN steps USING (split, step)
WHERE prompt_hash IS NOT NULL ORDER BY prompt_hash"""

PieceRows: TypeAlias = tuple[object, ...]
"""Identifies the rows of a piece."""


class Chunk(NamedTuple):
    """The prompts of some pieces, sorted: launch `launches[n]` recorded prompt `hashes[n]` at step `keys[steps[n]]`."""

    pieces: frozenset[PieceRows]
    keys: list[StepKey]
    hashes: NDArray[np.int64]
    steps: NDArray[np.int32]
    launches: NDArray[np.int32]

    def of(self, prompt_hash: int) -> Iterator[tuple[StepKey, int]]:
        """Yield the steps of a prompt, each with the launch that recorded it; 0 for an unknown one."""
        first, stop = (int(np.searchsorted(self.hashes, prompt_hash, side)) for side in ("left", "right"))
        for step, launch in zip(self.steps[first:stop].tolist(), self.launches[first:stop].tolist(), strict=True):
            yield self.keys[step], launch


_kept: Lru[Path, list[Chunk]] = Lru(total=KEPT_BYTES, least=1)
"""By the folder of the index."""
_keeping = threading.Lock()


def steps_of_prompt(run: OpenRun, snapshot: Snapshot, prompt_hash: int) -> list[StepKey]:
    """Return the steps with a prompt, in no order."""
    chunks, missing = _known(run, snapshot)
    return _steps(snapshot, [*chunks, *_read_missing(run, missing)], prompt_hash)


def count_steps(run: OpenRun, prompt_hash: int) -> int | None:
    """Return at how many steps a prompt appears; None if that is not known and would take long."""
    snapshot = run.snapshot()
    chunks, missing = _known(run, snapshot)
    if sum(piece.rows for piece in missing) > QUICK_ROWS:
        return None
    return len(_steps(snapshot, [*chunks, *_read_missing(run, missing)], prompt_hash))


def _steps(snapshot: Snapshot, chunks: Iterable[Chunk], prompt_hash: int) -> list[StepKey]:
    steps = dict.fromkeys(
        key
        for chunk in chunks
        for key, launch in chunk.of(prompt_hash)
        if (stats := snapshot.steps.get(key)) is not None and launch in (0, stats.launch)
    )
    return list(steps)


def _known(run: OpenRun, snapshot: Snapshot) -> tuple[list[Chunk], list[Piece]]:
    """Return what is known of the present pieces, and the other pieces."""
    missing = {_rows_of(piece): piece for piece in snapshot.holding()}
    chunks = [chunk for chunk in _kept.get(run.catalog.folder) or [] if chunk.pieces <= missing.keys()]
    for chunk in chunks:
        for rows in chunk.pieces:
            missing.pop(rows, None)
    return chunks, list(missing.values())


def _rows_of(piece: Piece) -> PieceRows:
    return piece.source, piece.start, piece.stop, piece.fingerprint, piece.path is None


def _read_missing(run: OpenRun, missing: list[Piece]) -> Iterator[Chunk]:
    """Read pieces. Rows in memory may change at any time, so they are not cached."""
    written = [piece for piece in missing if piece.path is not None]
    tails = [piece for piece in missing if piece.path is None]
    if written:
        chunk = _read(run, written)
        _keep(run, chunk)
        yield chunk
    if tails:
        yield _read(run, tails)


def _keep(run: OpenRun, chunk: Chunk) -> None:
    present = {_rows_of(piece) for piece in run.snapshot().holding()}
    with _keeping:
        kept = [one for one in _kept.get(run.catalog.folder) or [] if one.pieces <= present]
        if all(one.pieces.isdisjoint(chunk.pieces) for one in kept):  # another thread may have read them too
            kept.append(chunk)
        small = [one for one in kept if len(one.hashes) * MOST_CHUNKS < QUICK_ROWS]
        if len(small) > MOST_CHUNKS:
            large = [one for one in kept if len(one.hashes) * MOST_CHUNKS >= QUICK_ROWS]
            kept = [*large, _merged(small)]
        size = sum(one.hashes.nbytes + one.steps.nbytes + one.launches.nbytes for one in kept)
        _kept.put(run.catalog.folder, kept, size)


def _merged(chunks: Sequence[Chunk]) -> Chunk:
    keys = list(dict.fromkeys(key for chunk in chunks for key in chunk.keys))
    numbers = {key: number for number, key in enumerate(keys)}
    hashes = np.concatenate([chunk.hashes for chunk in chunks])
    steps = [np.array([numbers[key] for key in chunk.keys], np.int32)[chunk.steps] for chunk in chunks]
    launches = np.concatenate([chunk.launches for chunk in chunks])
    order = np.argsort(hashes, kind="stable")
    pieces = frozenset[PieceRows]().union(*(chunk.pieces for chunk in chunks))
    return Chunk(pieces, keys, hashes[order], np.concatenate(steps)[order], launches[order])


def _read(run: OpenRun, pieces: list[Piece]) -> Chunk:
    """Read the rows of all launches: which of them count changes while a run grows."""
    whole = [piece._replace(superseded=()) for piece in pieces]
    keys = list(dict.fromkeys((stats.split, stats.step) for piece in pieces for stats in piece.step_stats))
    splits, steps = zip(*keys, strict=True)
    numbers = pa.table({"split": splits, "step": pa.array(steps, pa.int64()), "number": range(len(keys))})
    table = database.table(run, database.Question(whole, EVERY, tables={"steps": numbers}))
    hashes, places, launches = (column.to_numpy() for column in table.columns)
    return Chunk(frozenset(map(_rows_of, pieces)), keys, hashes, places.astype(np.int32), launches.astype(np.int32))
