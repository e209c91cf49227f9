"""The steps of every prompt of a run, in memory: which files to ask about a prompt, and whether it comes again at all.

They are read once from each piece of the index. A run that grows adds its new pieces, so nothing takes longer in a
large run than in a small one.
"""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.index import OpenRun, Piece, Snapshot, StepKey
from rolloupe.lru import Lru
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question

KEPT_BYTES = 64 * 2**20
MOST_CHUNKS = 32
QUICK_ROWS = 200_000
"""`count_steps` reads no more rows than these: 15 ms."""

EVERY = """
SELECT DISTINCT prompt_hash, number FROM rows JOIN steps USING (split, step)
WHERE prompt_hash IS NOT NULL ORDER BY prompt_hash"""


class Chunk(NamedTuple):
    """The prompts of some pieces, sorted: prompt `hashes[n]` comes at step `keys[steps[n]]`."""

    pieces: Sequence[Piece]
    keys: list[StepKey]
    hashes: NDArray[np.int64]
    steps: NDArray[np.int32]

    def of(self, prompt_hash: int) -> Iterable[StepKey]:
        """Return the steps of a prompt."""
        first, stop = (int(np.searchsorted(self.hashes, prompt_hash, side)) for side in ("left", "right"))
        return (self.keys[step] for step in self.steps[first:stop])


_kept: Lru[Path, list[Chunk]] = Lru(total=KEPT_BYTES, least=1)
"""By the folder of the index."""
_reading = threading.Lock()


def steps_of_prompt(run: OpenRun, snapshot: Snapshot, prompt_hash: int) -> list[StepKey]:
    """Return the steps with a prompt, in no order."""
    with _reading:
        chunks, missing = _known(run, snapshot)
        if missing:
            chunks = _with(run, chunks, missing)
    return _steps(snapshot, chunks, prompt_hash)


def count_steps(run: OpenRun, prompt_hash: int) -> int | None:
    """Return at how many steps a prompt comes; None if that is not known and would take long."""
    snapshot = run.snapshot()
    with _reading:
        chunks, missing = _known(run, snapshot)
        if sum(piece.rows for piece in missing) > QUICK_ROWS:
            return None
        if missing:
            chunks = _with(run, chunks, missing)
    return len(_steps(snapshot, chunks, prompt_hash))


def _steps(snapshot: Snapshot, chunks: Iterable[Chunk], prompt_hash: int) -> list[StepKey]:
    found = dict.fromkeys(key for chunk in chunks for key in chunk.of(prompt_hash))
    return [key for key in found if key in snapshot.pieces]


def _known(run: OpenRun, snapshot: Snapshot) -> tuple[list[Chunk], list[Piece]]:
    """Return what is known of the present pieces, and the other pieces."""
    present = {id(piece): piece for piece in snapshot.holding()}
    kept = _kept.get(run.catalog.folder) or []
    chunks = [chunk for chunk in kept if all(id(piece) in present for piece in chunk.pieces)]
    for chunk in chunks:
        for piece in chunk.pieces:
            del present[id(piece)]
    return chunks, list(present.values())


def _with(run: OpenRun, chunks: list[Chunk], missing: list[Piece]) -> list[Chunk]:
    """Read missing pieces. Rows in memory may change at any time: they are not kept."""
    if len(chunks) >= MOST_CHUNKS:
        missing = [*missing, *(piece for chunk in chunks for piece in chunk.pieces)]
        chunks = []
    written = [piece for piece in missing if piece.path is not None]
    if written:
        chunks = [*chunks, _read(run, written)]
        size = sum(chunk.hashes.nbytes + chunk.steps.nbytes for chunk in chunks)
        _kept.put(run.catalog.folder, chunks, size)
    tails = [piece for piece in missing if piece.path is None]
    return [*chunks, _read(run, tails)] if tails else chunks


def _read(run: OpenRun, pieces: list[Piece]) -> Chunk:
    keys = list(dict.fromkeys((stats.split, stats.step) for piece in pieces for stats in piece.step_stats))
    splits, steps = zip(*keys, strict=True)
    numbers = pa.table({"split": splits, "step": pa.array(steps, pa.int64()), "number": range(len(keys))})
    table = database.table(run, Question(pieces, EVERY, tables={"steps": numbers}))
    hashes, places = (column.to_numpy() for column in table.columns)
    return Chunk(pieces, keys, hashes, places.astype(np.int32))
