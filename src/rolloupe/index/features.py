"""The features of a segment: sums of phrases and behaviours for each step, and the words of some of its samples.

A separate pass writes them after texts and derived metrics, whose files it reads. It covers all of a small run, and
whole groups of a large run, evenly over steps.
"""

import contextlib
import hashlib
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from rolloupe.derive import behaviours
from rolloupe.features import (
    BLOCK_SAMPLES,
    FeatureRows,
    Floats,
    Grouping,
    WithinSums,
    feature_rows,
    sums_within,
    words_of,
)
from rolloupe.index.segments import derived_values, kind, segment
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.parts import WORD
from rolloupe.index.segments.step_stats import StepStats
from rolloupe.index.segments.texts import CONTENTS, stored_texts, text_of
from rolloupe.storage import atomic

SCANNED_CHARS = 2**26
"""The most text to scan: some five seconds of one core."""

KEPT_SAMPLES, KEPT_CHARS = 2**15, 2**25
"""The most samples whose words to keep, and the most text of them."""


def share_of(step_stats: Iterable[StepStats]) -> kind.ScanShare:
    """The share of a run with these steps. It only shrinks as a run grows."""

    def halvings(times: float) -> int:
        return max(0, math.ceil(math.log2(times))) if times > 1 else 0

    samples = chars = 0.0
    for stats in step_stats:
        moments, rows = stats.columns.get("response_chars"), stats.rows + stats.superseded
        samples += rows
        chars += moments.mean * rows if moments is not None and moments.count else 0.0
    scanned = halvings(chars / SCANNED_CHARS)
    return kind.ScanShare(scanned, max(scanned, halvings(chars / KEPT_CHARS), halvings(samples / KEPT_SAMPLES)))


def order_of(groups: Sequence[str], of: str) -> tuple[list[int], float]:
    """The numbers of the groups of a step in a fixed random order, and an addend for `count_of`.

    The addend, from 0 to 1, rounds the number of groups up at some steps, and down at others.
    """
    ranks = [hashlib.blake2b(f"{of}/{group}".encode("utf-8", "replace"), digest_size=8).digest() for group in groups]
    digest = hashlib.blake2b(of.encode("utf-8", "replace"), digest_size=4).digest()
    return sorted(range(len(groups)), key=lambda number: ranks[number]), int.from_bytes(digest) / 2**32


def count_of(halvings: int, total: int, addend: float) -> int:
    """The number of groups of a step to take."""
    return total if not halvings else int(total / 2**halvings + addend)


LARGEST = 1e15
"""Larger rewards count as missing: a sum with their squares loses all digits of other rewards."""

SMALLEST = 1e-15
"""Smaller differences count as none."""

BLOCK_COLUMNS = ("split", "step", "launch", "env", "grp", "idx", "response_chars", "reward", "advantage")


class StepOfEnv(NamedTuple):
    """The step and the environment of all samples of a block."""

    split: str
    step: int
    launch: int
    env: str


class SampleBlock(NamedTuple):
    """Some samples of a step: their rows in the segment, group by group, each of shape (N,)."""

    of: StepOfEnv
    rows: NDArray[np.int64]
    grouping: Grouping
    advantages: Floats
    """Advantages less the mean of the group: the trainer's if all samples of the group have one, else the rewards."""
    rewards: Floats
    """Less the mean of the group."""
    kept: NDArray[np.bool_]
    """True for the samples whose words are kept."""


class BlockPlan(NamedTuple):
    """The samples of a block, without arrays: a segment may have a hundred thousand blocks of one sample."""

    of: StepOfEnv
    members: Sequence[tuple[list[int], bool]]
    """The rows of each group, and whether the words of its samples are kept."""
    all_rewards: Floats
    all_advantages: Floats
    """The values of all rows of the segment."""

    @property
    def rows(self) -> list[int]:
        """The rows of its samples in the segment, group by group."""
        return [row for some, _ in self.members for row in some]

    def block(self) -> SampleBlock:
        """Make the block."""
        rows = np.array(self.rows, np.int64)
        sizes = [len(some) for some, _ in self.members]
        grouping = Grouping(np.repeat(np.arange(len(sizes)), sizes))
        own, given = _gaps(grouping, self.all_rewards[rows]), _gaps(grouping, self.all_advantages[rows])
        kept = np.repeat([kept for _, kept in self.members], sizes)
        return SampleBlock(self.of, rows, grouping, np.where(np.isfinite(given), given, own), own, kept)


def blocks_of(table: pa.Table, share: kind.ScanShare) -> Iterator[BlockPlan]:
    """Yield the blocks of a segment's samples that have a reward, up to a share of its groups.

    Samples of a group with equal index, length and reward are one sample that the file holds twice: they count once.
    `table` has the `BLOCK_COLUMNS` of the segment's numbers.
    """
    columns = {name: table[name].to_pylist() for name in BLOCK_COLUMNS[:7]}
    numbers = (table[name].to_numpy().astype(np.float64) for name in BLOCK_COLUMNS[7:])
    rewards, advantages = (np.where(np.abs(column) < LARGEST, column, np.nan) for column in numbers)
    rewards = np.where(np.isfinite(rewards), rewards, advantages)
    groups: dict[StepOfEnv, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[object, ...]] = set()
    for row, (split, step, launch, env, group, *about) in enumerate(zip(*columns.values(), strict=True)):
        of, sample = StepOfEnv(split, step, launch, env or ""), (group, *about, rewards[row])
        if np.isfinite(rewards[row]) and (of, sample) not in seen:
            seen.add((of, sample))
            groups[of][group].append(row)
    for of, own in groups.items():
        names = list(own)
        order, addend = order_of(names, f"{of.split}/{of.step}/{of.env}")
        taken = order[: count_of(share.scanned, len(names), addend)]
        kept = frozenset(order[: count_of(share.kept, len(names), addend)])
        members: list[tuple[list[int], bool]] = []
        count = 0
        for rows, is_kept in ((own[names[number]][:BLOCK_SAMPLES], number in kept) for number in sorted(taken)):
            if members and count + len(rows) > BLOCK_SAMPLES:
                yield BlockPlan(of, members, rewards, advantages)
                members, count = [], 0
            members.append((rows, is_kept))
            count += len(rows)
        if members:
            yield BlockPlan(of, members, rewards, advantages)


def _gaps(grouping: Grouping, values: Floats) -> Floats:
    gaps = grouping.centred(values)
    return np.where(np.abs(gaps) < SMALLEST, 0.0, gaps)


VERSION = 5
"""Raise it when the same samples lead to other sums or words."""

ENDING = ".features.parquet"
WORDS_OF_SAMPLES = ".samples" + ENDING
"""The ending of the file with the words of samples."""

FACTS = b"features"

BLOCK = 0
"""The hash of a row with the facts of a block: `samples` are its samples, `groups` the groups in which the advantage
varies, `d` their degrees of freedom, `s` and `r` the sums of squares of advantage and reward."""

MAX_CHARS = 2**16
"""The most bytes of a response that count. A longer response counts half of them at its start, and half at its end."""

BATCH_ROWS = 128
"""The number of responses cut into words together: few enough for the cache of a core."""

BATCH_BLOCKS = 256
"""The number of blocks in a table: a table for each would take kilobytes for a block of one sample."""

Words = NDArray[np.uint64]


class FeatureFacts(Struct, frozen=True, kw_only=True):
    """The facts on which the features of a segment depend, beside its records."""

    version: str
    share: kind.ScanShare
    behaviours: dict[str, int]
    """By derived metric, the version of the values."""


def features_of(path: Path) -> Path:
    """The path of the sums of a segment."""
    return path.with_name(f"{path.stem}.{VERSION}{ENDING}")


def sample_words_of(path: Path) -> Path:
    """The path of the words of samples of a segment."""
    return path.with_name(f"{path.stem}.{VERSION}{WORDS_OF_SAMPLES}")


def hash_of_behaviour(name: str) -> int:
    """The number of a behaviour in place of a hash: no phrase has an odd one."""
    return zlib.crc32(name.encode()) << 12 | 1


def values_column(name: str) -> str:
    """The column of a behaviour beside the words of samples."""
    return f"x.{name}"


FILES_VERSION = f"{VERSION} {' '.join(sorted(behaviours()))}"
"""Names the columns of the files, which follow from the behaviours that this version of Rolloupe knows."""


def feature_facts(path: Path, contents: bytes) -> FeatureFacts | None:
    """The facts with which the features of a segment were computed; None without files, or if they are outdated."""
    try:
        with segment.parquet_file(features_of(path)) as own, segment.parquet_file(sample_words_of(path)) as words:
            both = [file.metadata.metadata or {} for file in (own, words)]
        facts, other = [msgspec.json.decode(metadata[FACTS], type=FeatureFacts) for metadata in both]
    except (OSError, KeyError, pa.ArrowException, msgspec.MsgspecError):
        return None
    is_of = all(metadata.get(CONTENTS) == contents for metadata in both) and facts.version == FILES_VERSION
    return facts if is_of and facts == other else None


def _facts(path: Path, meta: kind.SegmentMeta, share: kind.ScanShare) -> FeatureFacts:
    about = derived_values.read_derived(path, meta)
    known = about.versions if about is not None else {}
    current = {name: metric.version for name, metric in behaviours().items() if known.get(name) == metric.version}
    return FeatureFacts(version=FILES_VERSION, share=share, behaviours=current)


def _is_written(path: Path, meta: kind.SegmentMeta, _stamp: object, _loss: object, share: kind.ScanShare) -> bool:
    if meta.annotates or not meta.rows:
        return True
    return feature_facts(path, meta.fingerprint.contents) == _facts(path, meta, share)


def _write(path: Path, records: kind.SegmentSource) -> None:
    facts = _facts(path, records.meta, records.job.share)
    with pq.ParquetFile(path) as file:
        numbers = file.read(columns=list(BLOCK_COLUMNS), use_threads=False)
    # Of behaviours, for each row: log2(1 + value), NaN for none.
    values = {name: np.full(len(numbers), np.nan) for name in behaviours()}
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_values.derived_of(path)) as file:
        table = file.read(columns=[derived_column(name) for name in facts.behaviours], use_threads=False)
        for name in facts.behaviours if len(table) == len(numbers) else ():
            column = table[derived_column(name)].to_numpy().astype(np.float64)
            values[name] = np.log2(1 + np.maximum(column, 0))
    features = _FeaturesOfPart(list(blocks_of(numbers, facts.share)), values)
    for first, responses in kind.until(records.ended, _texts(path, records)):
        features.add(first, responses)
    metadata = {CONTENTS: records.meta.fingerprint.contents, FACTS: msgspec.json.encode(facts)}
    for path_of, table in zip((sample_words_of, features_of), features.tables(), strict=True):
        options = {"use_dictionary": True} if path_of is features_of else {}
        contents = segment.parquet_of(table.replace_schema_metadata(metadata), **options)
        atomic.write(path_of(path), contents)
        del table, contents  # before the next table is made


def _texts(path: Path, records: kind.SegmentSource) -> Iterator[tuple[int, pa.Array]]:
    """Yield the responses of a segment in lots, each with the number of its first row."""
    first, meta = 0, records.meta
    with contextlib.suppress(OSError, pa.ArrowException):
        for batch in stored_texts(text_of(path), meta.rows, meta.fingerprint.contents, ["response"]):
            for start in range(0, len(batch), BATCH_ROWS):
                yield batch.first + start, batch.columns[0].slice(start, BATCH_ROWS)
            first = batch.first + len(batch)
    for start in range(first, meta.rows, BATCH_ROWS):
        some = [row.response.encode("utf-8", "replace").decode() for row in records.rows[start : start + BATCH_ROWS]]
        yield start, pa.array(some, pa.string())


class _FeaturesOfPart:
    """Computes the features of each block of a segment as soon as all its texts are there."""

    def __init__(self, blocks: Sequence[BlockPlan], behaviours: Mapping[str, Floats]) -> None:
        self._blocks, self._behaviours = blocks, behaviours
        self._block_of = {row: number for number, block in enumerate(blocks) for row in block.rows}
        self._left = [len(block.rows) for block in blocks]
        self._words: dict[int, Words] = {}
        self._blocks_done = 0
        self._found: list[tuple[StepOfEnv, list[FeatureRows]]] = []
        self._kept: list[tuple[int, SampleBlock, list[Words]]] = []
        """Blocks with words to keep, and their numbers."""
        self._tables = [_FEATURE_SCHEMA.empty_table()]
        self._sample_tables = [SAMPLE_SCHEMA.empty_table()]

    def add(self, first: int, responses: pa.Array) -> None:
        """Add the responses of the rows from number `first` on."""
        rows = [row for row in range(first, first + len(responses)) if row in self._block_of]
        if not rows:
            return
        words = words_of(*_bytes_of(responses.take(pa.array([row - first for row in rows]))))
        parts = np.split(words.hashes, np.searchsorted(words.texts, np.arange(1, len(rows))))
        for row, part in zip(rows, parts, strict=True):
            self._words[row] = part
            number = self._block_of[row]
            self._left[number] -= 1
            if not self._left[number]:
                self._finish(self._blocks[number].block())

    def _finish(self, block: SampleBlock) -> None:
        a, r, grouping = block.advantages, block.rewards, block.grouping
        varies, unit = grouping.variances(a) > 0, np.ones(1)
        counts = np.array([len(a)]), np.array([int(varies.sum())])
        freedom = unit * (grouping.sizes[varies] - 1).sum()
        facts = FeatureRows(np.array([BLOCK], np.uint64), *counts, unit * (a @ a), unit * (r @ r), 0 * unit, freedom)
        x = np.stack([values[block.rows] for values in self._behaviours.values()], 1)
        hashes = np.array([hash_of_behaviour(name) for name in self._behaviours], np.uint64)
        sums: WithinSums = sums_within(np.nan_to_num(grouping.centred(x)), a, r, grouping)
        groups = sums.groups.astype(np.int64)
        of_behaviours = FeatureRows(hashes, (x > 0).sum(axis=0), groups, sums.s, sums.r, sums.v, sums.d)
        words = [self._words.pop(row) for row in block.rows.tolist()]
        samples = np.repeat(np.arange(len(words)), [len(of_sample) for of_sample in words])
        phrases = feature_rows(np.concatenate(words), samples, a, r, grouping)
        self._found.append((block.of, [facts, of_behaviours, phrases]))
        self._blocks_done += 1
        if block.kept.any():
            self._kept.append((self._blocks_done, block, words))
        if len(self._found) >= BATCH_BLOCKS:
            self._flush()

    def _flush(self) -> None:
        """Turn the blocks so far into tables."""
        if self._found:
            blocks = [(of, rows) for of, several in self._found for rows in several]
            columns = [np.concatenate(some) for some in zip(*(rows for _, rows in blocks), strict=True)]
            arrays = [*_places([of for of, _ in blocks], [len(rows.hashes) for _, rows in blocks]).values()]
            for (_, type_), column in zip(FEATURE_TYPES.items(), columns, strict=True):
                arrays.append(pa.array(column).cast(type_))
            self._tables.append(pa.Table.from_arrays(arrays, schema=_FEATURE_SCHEMA))
        if self._kept:
            self._sample_tables.append(self._samples_of(self._kept))
        self._found, self._kept = [], []

    def _samples_of(self, blocks: Sequence[tuple[int, SampleBlock, list[Words]]]) -> pa.Table:
        """The kept samples of blocks."""
        own = [words[number] for _, block, words in blocks for number in np.flatnonzero(block.kept).tolist()]
        counts = [int(block.kept.sum()) for _, block, _ in blocks]
        rows = np.concatenate([block.rows[block.kept] for _, block, _ in blocks])
        groups = np.concatenate([block.grouping.numbers[block.kept] for _, block, _ in blocks])
        columns = {
            **_places([block.of for _, block, _ in blocks], counts),
            "row": pa.array(rows),
            "block": pa.array(np.repeat([number for number, _, _ in blocks], counts).astype(np.int32)),
            "group": pa.array(groups.astype(np.int32)),
            "advantage": pa.array(np.concatenate([block.advantages[block.kept] for _, block, _ in blocks])),
            "reward": pa.array(np.concatenate([block.rewards[block.kept] for _, block, _ in blocks])),
            "words": pa.ListArray.from_arrays(np.cumsum([0, *map(len, own)]).astype(np.int32), np.concatenate(own)),
        }
        columns |= {values_column(name): pa.array(values[rows]) for name, values in self._behaviours.items()}
        return pa.table(columns)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the samples whose words are kept; then the features of each block, which begin with its facts."""
        self._flush()
        self._blocks = ()
        for tables in (self._sample_tables, self._tables):
            yield pa.concat_tables(tables[1:] or tables).unify_dictionaries()
            tables.clear()


_PLACE_TYPES = {"split": WORD, "step": pa.int64(), "launch": pa.int32(), "env": WORD}

FEATURE_TYPES = {
    "feature": pa.uint64(), "samples": pa.int32(), "groups": pa.int32(),
    "s": pa.float64(), "r": pa.float64(), "v": pa.float64(), "d": pa.float64(),
}  # fmt: skip
"""The columns of `FeatureRows`, as they are stored."""

_SAMPLE_TYPES = {
    "row": pa.int64(), "block": pa.int32(), "group": pa.int32(), "advantage": pa.float64(), "reward": pa.float64(),
    "words": pa.list_(pa.uint64()),
}  # fmt: skip

_FEATURE_SCHEMA = pa.schema({**_PLACE_TYPES, **FEATURE_TYPES}.items())
_VALUE_TYPES = {values_column(name): pa.float64() for name in behaviours()}
SAMPLE_SCHEMA = pa.schema({**_PLACE_TYPES, **_SAMPLE_TYPES, **_VALUE_TYPES}.items())


def _places(blocks: Sequence[StepOfEnv], counts: Sequence[int]) -> dict[str, pa.Array]:
    """The columns with the step and the environment of each block, repeated for its rows."""
    rows = pa.array(np.repeat(np.arange(len(blocks)), counts))
    return {
        name: pa.array([getattr(of, name) for of in blocks], type_).take(rows) for name, type_ in _PLACE_TYPES.items()
    }


def _bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of all texts, and where each begins; of a long text, only its first and its last part."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = np.zeros(0, np.uint8)
    if offsets[-1]:
        data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    offsets -= offsets[0]
    sizes = np.diff(offsets)
    if sizes.max() <= MAX_CHARS:
        return data, offsets
    half = MAX_CHARS // 2
    places = np.arange(len(data)) - np.repeat(offsets[:-1], sizes)
    kept = (places < half) | (places >= np.repeat(sizes, sizes) - half)
    return data[kept], np.concatenate([[0], np.cumsum(np.minimum(sizes, MAX_CHARS))])


FEATURES = kind.SegmentKind(
    "features", VERSION, ENDING, "features", _is_written, _write, [features_of, sample_words_of]
)
