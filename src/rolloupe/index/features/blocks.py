"""The samples of a segment in blocks, each of whole groups of one step and one environment."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rolloupe.features import BLOCK_SAMPLES, Floats, Grouping
from rolloupe.index.features.shares import ScanShare, count_of, order_of

LARGEST = 1e15
"""Larger rewards count as missing: beside their squares, no digit of other sums is left."""

SMALLEST = 1e-15
"""Smaller differences count as none."""

COLUMNS = ("split", "step", "launch", "env", "grp", "idx", "response_chars", "reward", "advantage")


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
    `table` has the `COLUMNS` of the segment's numbers.
    """
    columns = {name: table[name].to_pylist() for name in COLUMNS[:7]}
    rewards, advantages = (_numbers(table[name]) for name in COLUMNS[7:])
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
        for some in _parts(members):
            yield BlockPlan(of, some, rewards, advantages)


def _numbers(column: pa.ChunkedArray) -> Floats:
    values: Floats = column.to_numpy().astype(np.float64)
    return np.where(np.abs(values) < LARGEST, values, np.nan)


_Members = Sequence[tuple[list[int], bool]]
"""The rows of groups, and whether their words are kept."""


def _parts(members: _Members) -> Iterator[_Members]:
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
