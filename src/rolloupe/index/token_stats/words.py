"""The words of a vocabulary in a segment: how often each was a token, its KL, its probability, and its samples."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.derive.base import KL
from rolloupe.index.segments.segment import parquet_of
from rolloupe.index.token_stats.series import encodable, largest
from rolloupe.storage import atomic
from rolloupe.tokens import Floats, TokenBatch

MAX_WORDS = 1024
"""The number of the most frequent words to keep, and of the words with most KL."""

MANY_BATCHES = 16
"""The number of batches to hold before they are added up."""

DENSE = 2**20
"""Ids below are counted in an array."""

KLS = (*KL, "mismatch_kl")
"""The series whose sums are kept as KL: the first of these that samples have."""

SUMS = 5
"""The number of sums of a word."""


class KeptWords(NamedTuple):
    """The words of a step in one segment; of many, some are left out."""

    words: Sequence[str | int]
    """The string of each, or its id where the records hold no strings."""
    sums: Floats
    """Shape (5, W), over the trained tokens that are the word: their number; the sum of their KL, and the number with
    a KL; the sum of their probabilities at sampling, and the number with a probability."""
    tokens: int
    """The number of tokens with a word, left out or not."""
    kl: str = ""
    """The series that is summed as KL; empty if the samples have no KL."""

    @property
    def is_whole(self) -> bool:
        """True if no word is left out."""
        return int(self.sums[0].sum()) == self.tokens


_WordSums: TypeAlias = tuple[NDArray[np.int64], Floats]
"""The numbers of words, and their sums as in `KeptWords`."""


class WordNumbers:
    """The words of a segment, each with a number: an id is its own, and strings have numbers of -2 and less."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers_of(self, batch: TokenBatch) -> NDArray[np.int64] | None:
        """The number of each token's word, -1 for one without; None if no record holds strings or ids."""
        if not batch.has_strings:
            return None if batch.ids is None else np.maximum(batch.ids, -1)
        numbers = self._numbers
        return np.array(
            [-1 if word is None else numbers.setdefault(word, -2 - len(numbers)) for word in batch.strings()], np.int64
        )

    def words(self, numbers: NDArray[np.int64]) -> list[str | int]:
        """The words with these numbers."""
        strings = list(self._numbers)
        return [number if number >= 0 else strings[-2 - number] for number in numbers.tolist()]


class WordTotals:
    """The words seen so far."""

    def __init__(self) -> None:
        self.kl = ""
        self._batches: list[_WordSums] = []

    def add(self, batch: TokenBatch, words: NDArray[np.int64] | None) -> None:
        """Add the trained tokens of a batch, whose words have these numbers."""
        if words is None:
            return
        name = next((name for name in KLS if name in batch.series), "")
        self.kl = self.kl or name
        kl = batch.series[name].values if name and name == self.kl else None
        probability = batch.series.get("sampling_probability", batch.series.get("probability"))
        kept = np.flatnonzero(batch.trained & (words != -1))
        columns = (kl, probability.values if probability is not None else None)
        self._batches.append(_summed(words[kept], *(None if values is None else values[kept] for values in columns)))
        if len(self._batches) >= MANY_BATCHES:
            self._batches = [_merged_words(self._batches)]

    def kept(self, vocabulary: WordNumbers) -> KeptWords:
        """The most frequent words, and those with most KL."""
        words, sums = _merged_words(self._batches)
        counts, kl, *_ = sums
        total = int(counts.sum())
        if len(words) > 2 * MAX_WORDS:
            at = np.union1d(largest(counts, MAX_WORDS), largest(np.abs(kl), MAX_WORDS))
            words, sums = words[at], sums[:, at]
        return KeptWords(vocabulary.words(words), sums, total, self.kl)


def _summed(words: NDArray[np.int64], kl: Floats | None, probability: Floats | None) -> _WordSums:
    if len(words) and words.min() >= 0 and words.max() < DENSE:
        distinct, places = None, words
    else:
        distinct, places = np.unique(words, return_inverse=True)
    counts = np.bincount(places)
    sums = [counts, *_of_series(places, counts, kl), *_of_series(places, counts, probability)]
    if distinct is None:
        distinct = np.flatnonzero(counts)
        sums = [row[distinct] for row in sums]
    return distinct.astype(np.int64), np.stack(sums).astype(np.float64)


def _of_series(places: NDArray[np.int64], counts: NDArray[np.int64], values: Floats | None) -> list[NDArray[Any]]:
    """By word, the sum of the finite values of a series, and their number."""
    if values is None:
        return [np.zeros(len(counts))] * 2
    is_finite = np.isfinite(values)
    if is_finite.all():
        return [np.bincount(places, values), counts]
    return [np.bincount(places, np.where(is_finite, values, 0.0)), np.bincount(places, is_finite)]


def _merged_words(some: Sequence[_WordSums]) -> _WordSums:
    if not some:
        return np.zeros(0, np.int64), np.zeros((SUMS, 0))
    if len(some) == 1:
        return some[0]
    words, places = np.unique(np.concatenate([words for words, _ in some]), return_inverse=True)
    sums = np.concatenate([sums for _, sums in some], axis=1)
    return words, np.stack([np.bincount(places, row, len(words)) for row in sums], dtype=np.float64)


_decode = msgspec.msgpack.Decoder(tuple[list[str | int], bytes, int, str]).decode


def packed_words(kept: KeptWords) -> bytes:
    """Words as bytes."""
    words = [encodable(word) for word in kept.words]
    return msgspec.msgpack.encode((words, kept.sums.astype("<f8").tobytes(), kept.tokens, kept.kl))


def unpacked_words(data: bytes) -> KeptWords:
    """The words that `packed_words` gave as bytes."""
    words, sums, count, kl = _decode(data)
    return KeptWords(words, np.frombuffer(sums, "<f8").reshape(SUMS, -1), count, kl)


WORDS_OF_GROUP = 4096
"""Words in a row group."""

SMALL = 2**31
MAX_NUMBER = 2**31
"""No vocabulary has greater ids. Smaller ones, times the samples of a segment, fit into 64 bits."""


class WordRows:
    """The samples seen so far, by word; `count` is the number of samples of the segment."""

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
        """Write the rows of each `word` or `id`, if there is a word. Returns the file's size."""
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
        encodings = {"rows.list.element": "DELTA_BINARY_PACKED"}
        contents = parquet_of(table, row_group_size=WORDS_OF_GROUP, column_encoding=encodings)
        atomic.write(path, contents)
        return contents.nbytes


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct numbers, ascending. `np.unique` takes several times as long, and numbers of 64 bits twice."""
    is_small = len(numbers) > 0 and int(numbers.min()) >= -SMALL and int(numbers.max()) < SMALL
    ordered = np.sort(numbers.astype(np.int32)) if is_small else np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first].astype(np.int64)
