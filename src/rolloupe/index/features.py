"""The features of a segment: sums of phrases and behaviours for each step, and the words of some of its samples.

A pass of its own, behind texts and derived metrics, whose files it reads. It looks at all of a small run; of a large
one it takes whole groups, evenly over steps.
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
from rolloupe.index.segments.columns import derived_column
from rolloupe.index.segments.derived_values import derived_of, read_derived
from rolloupe.index.segments.kind import (
    Backfilled,
    DerivedMeta,
    ScanShare,
    SegmentInputs,
    SegmentKind,
    SegmentMeta,
    SegmentSource,
    until,
)
from rolloupe.index.segments.parts import WORD
from rolloupe.index.segments.segment import parquet_of
from rolloupe.index.segments.step_stats import UNIT, StepStats
from rolloupe.index.segments.texts import CONTENTS, text_of
from rolloupe.storage import atomic

SCANNED_CHARS = 2**28
"""The most text to scan: one to two minutes of one core."""

KEPT_SAMPLES, KEPT_CHARS = 2**15, 2**25
"""The most samples whose words to keep, and the most text of them."""


def share_of(step_stats: Iterable[StepStats]) -> ScanShare:
    """The share of a run with these steps. It only shrinks as a run grows."""
    samples = chars = 0.0
    for stats in step_stats:
        moments = stats.columns.get("response_chars")
        rows = stats.rows + stats.superseded
        samples += rows
        chars += moments.total / moments.count * UNIT * rows if moments is not None and moments.count else 0.0
    scanned = _halvings(chars / SCANNED_CHARS)
    return ScanShare(scanned, max(scanned, _halvings(chars / KEPT_CHARS), _halvings(samples / KEPT_SAMPLES)))


def _halvings(times: float) -> int:
    return max(0, math.ceil(math.log2(times))) if times > 1 else 0


def order_of(groups: Sequence[str], of: str) -> tuple[list[int], float]:
    """The numbers of groups in the order in which they are taken, and what to add to a share of them.

    The order is random, and the same whoever asks. The addend, from 0 to 1, has as many groups taken over many steps as
    the share says, though each step has a whole number of them.
    """
    ranks = [hashlib.blake2b(f"{of}/{one}".encode("utf-8", "replace"), digest_size=8).digest() for one in groups]
    digest = hashlib.blake2b(of.encode("utf-8", "replace"), digest_size=4).digest()
    return sorted(range(len(groups)), key=lambda number: ranks[number]), int.from_bytes(digest) / 2**32


def count_of(halvings: int, total: int, addend: float) -> int:
    """The number of groups to take of a step."""
    return total if not halvings else int(total / 2**halvings + addend)


LARGEST = 1e15
"""Larger rewards count as missing: beside their squares, no digit of other sums is left."""

SMALLEST = 1e-15
"""Smaller differences count as none."""

BLOCK_COLUMNS = ("split", "step", "launch", "env", "grp", "idx", "response_chars", "reward", "advantage")


class StepOfEnv(NamedTuple):
    """What all samples of a block have in common."""

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
    """Less the mean of the group: the trainer's where all samples of the group have one, else the rewards."""
    rewards: Floats
    """Less the mean of the group."""
    kept: NDArray[np.bool_]
    """True for the samples whose words are kept."""


class BlockPlan(NamedTuple):
    """Which samples of a segment make up a block. A segment may have a hundred thousand blocks of one sample."""

    of: StepOfEnv
    members: Sequence[tuple[list[int], bool]]
    """The rows of each group, and whether the words of its samples are kept."""
    all_rewards: Floats
    all_advantages: Floats
    """Those of the segment."""

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


def blocks_of(table: pa.Table, share: ScanShare) -> Iterator[BlockPlan]:
    """Yield the blocks of a segment's samples that have a reward, up to a share of its groups.

    A sample that the file has twice counts once: the same index in a group, as long, and with the same reward.
    `table` has the `BLOCK_COLUMNS` of the segment's numbers.
    """
    columns = {name: table[name].to_pylist() for name in BLOCK_COLUMNS[:7]}
    rewards, advantages = (_numbers(table[name]) for name in BLOCK_COLUMNS[7:])
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
        members = [(own[names[number]][:BLOCK_SAMPLES], number in kept) for number in sorted(taken)]
        for some in _cut_groups(members):
            yield BlockPlan(of, some, rewards, advantages)


def _numbers(column: pa.ChunkedArray) -> Floats:
    values: Floats = column.to_numpy().astype(np.float64)
    return np.where(np.abs(values) < LARGEST, values, np.nan)


_Groups = Sequence[tuple[list[int], bool]]
"""The rows of groups, and whether their words are kept."""


def _cut_groups(members: _Groups) -> Iterator[_Groups]:
    """Cut groups into blocks."""
    part: list[tuple[list[int], bool]] = []
    count = 0
    for one in members:
        if part and count + len(one[0]) > BLOCK_SAMPLES:
            yield part
            part, count = [], 0
        part.append(one)
        count += len(one[0])
    if part:
        yield part


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
"""In place of a hash: the row with the facts of a block. `samples` are its samples, `groups` those groups where the
advantage varies, `d` the degrees of freedom in these, `s` and `r` the sums of squares of advantage and reward."""

MAX_CHARS = 2**16
"""Of a longer response, the first and the last half of so many bytes count."""

BATCH_ROWS = 1024

BATCH_BLOCKS = 256
"""So many blocks become a table at once: one for each would take kilobytes for a block of one sample."""

Words = NDArray[np.uint64]


class FeatureFacts(Struct, frozen=True, kw_only=True):
    """What the features of a segment depend on, beside its records."""

    version: str
    share: ScanShare
    behaviours: dict[str, int]
    """By derived metric, the version of the values."""


def features_of(path: Path) -> Path:
    """The path of the sums of a segment."""
    return path.with_name(f"{path.stem}.{VERSION}{ENDING}")


def sample_words_of(path: Path) -> Path:
    """The path of the words of samples of a segment."""
    return path.with_name(f"{path.stem}.{VERSION}{WORDS_OF_SAMPLES}")


def hash_of_behaviour(name: str) -> int:
    """The number in place of a hash: no phrase has an odd one."""
    return zlib.crc32(name.encode()) << 12 | 1


def values_column(name: str) -> str:
    """The column of a behaviour beside the words of samples."""
    return f"x.{name}"


def feature_facts(path: Path, contents: bytes) -> FeatureFacts | None:
    """What the features of a segment were computed with; None without a file, or for one of other records."""
    try:
        both = [pq.read_metadata(one).metadata or {} for one in (features_of(path), sample_words_of(path))]
        facts = [msgspec.json.decode(one[FACTS], type=FeatureFacts) for one in both]
    except (OSError, KeyError, pa.ArrowException, msgspec.MsgspecError):
        return None
    is_of = all(one.get(CONTENTS) == contents for one in both) and facts[0].version == _version()
    return facts[0] if is_of and facts[0] == facts[1] else None


def _version() -> str:
    """Names the columns of the files, which follow from the behaviours that this version of Rolloupe knows."""
    return f"{VERSION} {' '.join(sorted(behaviours()))}"


def _facts(path: Path, meta: SegmentMeta, share: ScanShare) -> FeatureFacts:
    about: DerivedMeta | None = read_derived(path, meta)
    current = {name: metric.version for name, metric in behaviours().items()}
    known = about.versions if about is not None else {}
    return FeatureFacts(
        version=_version(), share=share, behaviours={n: v for n, v in current.items() if known.get(n) == v}
    )


def _is_written(path: Path, meta: SegmentMeta, beside: SegmentInputs) -> bool:
    return (
        meta.annotates
        or not meta.rows
        or feature_facts(path, meta.fingerprint.contents) == _facts(path, meta, beside.share)
    )


def _write(path: Path, records: SegmentSource) -> None:
    facts = _facts(path, records.meta, records.job.share)
    with pq.ParquetFile(path) as file:
        numbers = file.read(columns=list(BLOCK_COLUMNS), use_threads=False)
    values = _behaviours(path, list(facts.behaviours), len(numbers))
    found = _FeaturesOfPart(list(blocks_of(numbers, facts.share)), values)
    for first, responses in until(records.ended, _texts(path, records)):
        found.add(first, responses)
    metadata = {CONTENTS: records.meta.fingerprint.contents, FACTS: msgspec.json.encode(facts)}
    atomic.write(sample_words_of(path), parquet_of(found.sample_table().replace_schema_metadata(metadata)))
    atomic.write(features_of(path), parquet_of(found.table().replace_schema_metadata(metadata), repeats=True))


def _behaviours(path: Path, names: Sequence[str], rows: int) -> dict[str, Floats]:
    """The values of behaviours for each row: log2(1 + value), NaN for none."""
    values = {name: np.full(rows, np.nan) for name in behaviours()}
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(derived_of(path)) as file:
        table = file.read(columns=[derived_column(name) for name in names], use_threads=False)
        if len(table) == rows:
            values |= {name: _scaled(table[derived_column(name)].to_numpy()) for name in names}
    return values


def _scaled(values: Floats) -> Floats:
    scaled: Floats = np.log2(1 + np.maximum(values.astype(np.float64), 0))
    return scaled


def _texts(path: Path, records: SegmentSource) -> Iterator[tuple[int, pa.Array]]:
    """Yield the responses of a segment, and the number of the first row of each lot: from its texts, or the source."""
    first = 0
    with contextlib.suppress(OSError, pa.ArrowException), pq.ParquetFile(text_of(path)) as file:
        contents = (file.schema_arrow.metadata or {}).get(CONTENTS)
        if contents == records.meta.fingerprint.contents and file.metadata.num_rows == records.meta.rows:
            for batch in file.iter_batches(BATCH_ROWS, columns=["response"], use_threads=False):
                yield first, batch.column(0)
                first += len(batch)
    if first < records.meta.rows:
        rows = records.rows
        for start in range(first, len(rows), BATCH_ROWS):
            some = [row.response.encode("utf-8", "replace").decode() for row in rows[start : start + BATCH_ROWS]]
            yield start, pa.array(some, pa.string())


class _FeaturesOfPart:
    """The features of the blocks of a segment: those of a block as soon as all its texts are there."""

    def __init__(self, blocks: Sequence[BlockPlan], behaviours: Mapping[str, Floats]) -> None:
        self._blocks, self._behaviours = blocks, behaviours
        self._block_of = {row: number for number, block in enumerate(blocks) for row in block.rows}
        self._left = [len(block.rows) for block in blocks]
        self._words: dict[int, Words] = {}
        self._blocks_done = 0
        self._found: list[tuple[StepOfEnv, list[FeatureRows]]] = []
        self._kept: list[tuple[int, SampleBlock, list[Words]]] = []
        """Blocks with words to keep, and their numbers."""
        self._tables: list[pa.Table] = []
        self._sample_tables: list[pa.Table] = []

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
        words = [self._words.pop(row) for row in block.rows.tolist()]
        samples = np.repeat(np.arange(len(words)), [len(one) for one in words])
        joined = np.concatenate(words)
        phrases = feature_rows(joined, samples, block.advantages, block.rewards, block.grouping)
        self._found.append((block.of, [_facts_of(block), self._of_behaviours(block), phrases]))
        self._blocks_done += 1
        if block.kept.any():
            self._kept.append((self._blocks_done, block, words))
        if len(self._found) >= BATCH_BLOCKS:
            self._flush()

    def _flush(self) -> None:
        """Turn the blocks so far into tables."""
        if self._found:
            self._tables.append(_table_of(self._found))
        if self._kept:
            self._sample_tables.append(self._samples_of(self._kept))
        self._found, self._kept = [], []

    def _of_behaviours(self, block: SampleBlock) -> FeatureRows:
        names = list(self._behaviours)
        x = np.stack([values[block.rows] for values in self._behaviours.values()], 1)
        hashes = np.array([hash_of_behaviour(name) for name in names], np.uint64)
        centred = np.nan_to_num(block.grouping.centred(x))
        sums: WithinSums = sums_within(centred, block.advantages, block.rewards, block.grouping)
        has = (x > 0).sum(axis=0)
        return FeatureRows(hashes, has, sums.groups.astype(np.int64), sums.s, sums.r, sums.v, sums.d)

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

    def sample_table(self) -> pa.Table:
        """A row for each sample whose words are kept."""
        self._flush()
        tables, self._sample_tables, self._blocks = self._sample_tables, [], ()
        return pa.concat_tables(tables or [SAMPLE_SCHEMA.empty_table()]).unify_dictionaries()

    def table(self) -> pa.Table:
        """A row for each feature of each block; those of a block begin with its facts."""
        self._flush()
        tables, self._tables = self._tables, []
        return pa.concat_tables(tables or [_FEATURE_SCHEMA.empty_table()]).unify_dictionaries()


def _table_of(blocks: Sequence[tuple[StepOfEnv, list[FeatureRows]]]) -> pa.Table:
    found = [(of, rows) for of, several in blocks for rows in several]
    columns = [np.concatenate(some) for some in zip(*(rows for _, rows in found), strict=True)]
    sizes = [len(rows.hashes) for _, rows in found]
    arrays = [*_places([of for of, _ in found], sizes).values()]
    arrays += [pa.array(column).cast(FEATURE_TYPES[name]) for name, column in zip(FEATURE_TYPES, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_FEATURE_SCHEMA)


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
    """The columns of what the rows of each block have in common, so many rows each."""
    rows = pa.array(np.repeat(np.arange(len(blocks)), counts))
    return {
        name: pa.array([getattr(of, name) for of in blocks], type_).take(rows) for name, type_ in _PLACE_TYPES.items()
    }


def _facts_of(block: SampleBlock) -> FeatureRows:
    grouping, a, r = block.grouping, block.advantages, block.rewards
    varies = grouping.variances(a) > 0
    one = np.ones(1)
    return FeatureRows(
        np.array([BLOCK], np.uint64),
        np.array([len(a)]),
        np.array([int(varies.sum())]),
        one * (a @ a),
        one * (r @ r),
        0 * one,
        one * (grouping.sizes[varies] - 1).sum(),
    )


def _bytes_of(texts: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as bytes one after another, and their bounds; of long ones the first and the last part."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    data = (
        np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]] if offsets[-1] else np.zeros(0, np.uint8)
    )
    offsets -= offsets[0]
    sizes = np.diff(offsets)
    if sizes.max() <= MAX_CHARS:
        return data, offsets
    half = MAX_CHARS // 2
    places = np.arange(len(data)) - np.repeat(offsets[:-1], sizes)
    kept = (places < half) | (places >= np.repeat(sizes, sizes) - half)
    return data[kept], np.concatenate([[0], np.cumsum(np.minimum(sizes, MAX_CHARS))])


FEATURES = SegmentKind(
    "features", VERSION, ENDING, is_budgeted=True, backfilled=Backfilled(_is_written, _write, "features")
)
