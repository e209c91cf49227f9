"""Which samples of a segment have a word among their trained tokens: a row for each word, with the numbers of samples.

The words are in order, in groups of few: a question about one word reads little of a file.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.index.segments.segment import write_parquet
from rolloupe.index.token_stats.words import WordNumbers, encodable
from rolloupe.tokens import TokenBatch

GROUP = 4096
"""Words in a row group."""

SMALL = 2**31
MAX_NUMBER = 2**31
"""No vocabulary has greater ids. Smaller ones, times the samples of a segment, fit into 64 bits."""


class WordRows:
    """The samples seen so far, by word, of a segment with so many samples."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pairs: list[NDArray[np.int64]] = []
        """Each word of each sample once: the number of the word times `count`, and the number of the sample."""

    def add(self, batch: TokenBatch, words: NDArray[np.int64] | None) -> None:
        """Add the trained tokens of a batch, whose words have these numbers."""
        if words is None:
            return
        kept = np.flatnonzero(batch.trained & (words != -1) & (words < MAX_NUMBER))
        pairs = words[kept] * self._count + batch.rows[batch.samples[kept]]
        self._pairs.append(_distinct(pairs))

    def write(self, path: Path, vocabulary: WordNumbers) -> int:
        """Write `word` (null for an id), `id` (null for a string), and `rows`, ascending. Returns the file's size.

        Writes nothing if there is no word.
        """
        pairs = _distinct(np.concatenate([np.zeros(0, np.int64), *self._pairs]))
        if not len(pairs):
            return 0
        words = pairs // self._count
        starts = np.flatnonzero(np.diff(words, prepend=words[0] - 1))
        numbers = words[starts]
        strings = [encodable(word) for word in vocabulary.words(numbers[numbers < 0])]
        rows = pa.array((pairs - words * self._count).astype(np.int32))
        table = pa.table({
            "word": pa.array([*strings, *[None] * (len(numbers) - len(strings))], pa.string()),
            "id": pa.array(numbers, mask=numbers < 0),
            "rows": pa.ListArray.from_arrays(pa.array(np.append(starts, len(pairs)), pa.int32()), rows),
        })  # fmt: skip
        if strings:
            table = table.sort_by("word")
        return write_parquet(path, table, GROUP, encodings={"rows.list.element": "DELTA_BINARY_PACKED"})


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct numbers, ascending. `np.unique` takes several times as long, and numbers of 64 bits twice."""
    is_small = len(numbers) > 0 and int(numbers.min()) >= -SMALL and int(numbers.max()) < SMALL
    ordered = np.sort(numbers.astype(np.int32)) if is_small else np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first].astype(np.int64)
