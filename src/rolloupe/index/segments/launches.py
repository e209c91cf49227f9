"""Launches that no file names: a run that was resumed wrote some steps again.

A scan notes the blocks of a part: stretches of one step, with sums that tell which samples they hold. Sums add up, so
the parts of a file may be scanned in any order. The blocks of a whole file show where launches begin. A scan that knows
these places numbers the launches of its rows.
"""

import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from rolloupe.model import SampleColumns, SampleRow

MAX_BLOCKS = 20_000
"""The steps of a part with more blocks alternate: it shows no launches."""

MAX_LOOKS = 100
"""A file that goes back more often has no order."""

MAX_LAUNCHES = 16
"""A file with more launches writes each step twice on purpose: some trainers log a step before and after judging it."""

FAR = 3
"""Trainers that run ahead, and ranks that share a file, write a step up to two steps late."""

GAP_S = 60.0
"""Files that were copied together have times closer than this."""

SUMS = 2**63


class StepBlock(Struct, array_like=True, gc=False):
    """Rows of one step that follow each other."""

    split: str
    step: int
    start: int
    """The place of the first one in the source."""
    rows: int = 0
    prompts: int = 0
    """The sum of the hashes of the prompts."""
    ids: int = 0
    """The sum of the hashes of the samples' own names."""
    is_named: bool = True
    """True if each sample has a name of its own."""


def blocks_of(samples: SampleColumns) -> list[StepBlock]:
    """The blocks of a part in the order of the file; none if samples name their launch, or their places do not rise."""
    if not samples.count:
        return []
    fields = samples.fields
    steps = [*zip(fields["split"], fields["step"], strict=True)]
    cuts = [0, *(place for place, (step, next_step) in enumerate(pairwise(steps), 1) if step != next_step), len(steps)]
    if len(cuts) > MAX_BLOCKS:
        return []
    names, starts, launches = _names(samples), fields["start"], fields.get("launch")
    blocks: list[StepBlock] = []
    last = -1
    for begin, end in pairwise(cuts):
        if starts[begin] < last or (launches and launches[begin]):
            return []
        last = starts[end - 1]
        own = names(begin, end)
        prompts = sum(fields["prompt_hash"][begin:end]) % SUMS
        ids = sum(map(zlib.crc32, own))
        blocks.append(StepBlock(*steps[begin], starts[begin], end - begin, prompts, ids, len({*own}) == end - begin))
    return blocks


def _names(samples: SampleColumns) -> Callable[[int, int], list[bytes]]:
    """A function of a range of samples: their names in their file, with the epoch, which may repeat them; none if some
    have no name.
    """
    fields = samples.fields
    epochs = samples.metrics["epoch"].to_pylist() if "epoch" in samples.metrics else None
    groups, indices, starts = fields["group"], fields["index"], fields["start"]
    uids = fields.get("uid", [""] * samples.count)

    def names_of(begin: int, end: int) -> list[bytes]:
        names = uids[begin:end]
        if not all(names):
            if indices[begin].endswith(str(starts[begin])):
                return []
            names = [f"{group}/{index}" for group, index in zip(groups[begin:end], indices[begin:end], strict=True)]
        if epochs is not None and epochs[begin] is not None:
            names = [f"{name} {epoch}" for name, epoch in zip(names, epochs[begin:end], strict=True)]
        return [name.encode("utf-8", "replace") for name in names]

    return names_of


class LaunchPlaces(NamedTuple):
    """Where launches after the first begin in a source: by place, the split and the first step of each."""

    certain: dict[int, tuple[str, int]]
    doubtful: dict[int, tuple[str, int]]


def launches_of(blocks: Iterable[StepBlock]) -> LaunchPlaces:
    """Find the places at which a file goes back to an earlier step and writes a whole one again.

    A launch is certain if the samples' own names repeat, or if the file goes back by three steps or more to a step that
    is not its first and the prompts repeat. Any other step that goes back may be late, or from a different rank.
    """
    places = LaunchPlaces({}, {})
    by_split: dict[str, list[StepBlock]] = defaultdict(list)
    for block in blocks:
        by_split[block.split].append(block)
    for members in by_split.values():
        _find(members, places)
    return places if len(places.certain) < MAX_LAUNCHES else LaunchPlaces({}, places.doubtful | places.certain)


def _find(members: Sequence[StepBlock], places: LaunchPlaces) -> None:
    """Add the launches of one split."""
    known: dict[int, StepBlock] = {}
    """The blocks of the launches so far, by step; a later launch replaces those of an earlier one."""
    again: set[int] = set()
    """The steps that the present launch has written."""
    last = first = highest = members[0].step
    looks = 0
    for place, block in enumerate(members):
        if block.step < last and looks < MAX_LOOKS:
            ahead = highest - block.step
            looks += ahead >= FAR
            verdict = _verdict(known, last, members, place, ahead, is_first=block.step <= first)
            if verdict is not None:
                (places.certain if verdict else places.doubtful)[block.start] = block.split, block.step
            if verdict:
                again, highest = set(), block.step
        known[block.step] = _sum(known[block.step], block) if block.step in again else block
        again.add(block.step)
        last, first, highest = block.step, min(first, block.step), max(highest, block.step)


def _verdict(
    known: Mapping[int, StepBlock], last: int, members: Sequence[StepBlock], place: int, ahead: int, *, is_first: bool
) -> bool | None:
    """Tell whether a launch begins at a place: True for certain, False for perhaps, None for no."""
    is_far, step = ahead >= FAR, members[place].step
    after: dict[int, StepBlock] = {}
    before = step
    for at in range(place, len(members)):
        block = members[at]
        if block.step < (step if is_far else before):
            break
        after[block.step] = _sum(after[block.step], block) if block.step in after else block
        before = block.step
    pairs = [(known[both], after[both]) for both in after.keys() & known.keys() if both != last]
    whole = [(old, new) for old, new in pairs if (old.rows, old.prompts) == (new.rows, new.prompts)]
    if any(old.is_named and new.is_named and old.ids == new.ids for old, new in whole):
        return True
    if is_far and sum(old.rows for old, _ in whole) > 1 and not is_first:
        return True
    return False if whole or (is_far and any(old.rows == new.rows > 1 for old, new in pairs)) else None


def _sum(a: StepBlock, b: StepBlock) -> StepBlock:
    """Two blocks of one step together."""
    return StepBlock(
        a.split, a.step, a.start, a.rows + b.rows, (a.prompts + b.prompts) % SUMS, a.ids + b.ids,
        a.is_named and b.is_named,
    )  # fmt: skip


def places_of(
    launches: Mapping[str, LaunchPlaces], last_steps: Mapping[tuple[str, str], int]
) -> dict[str, tuple[int, ...]]:
    """The launches on which sources agree: ranks with files of their own resume together."""
    places: dict[str, tuple[int, ...]] = {}
    for name, own in launches.items():
        first: dict[str, int] = {}
        for split, step in own.certain.values():
            first[split] = min(step, first.get(split, step))
        rivals = {other for (other, split), last in last_steps.items() if last >= first.get(split, last + 1)}
        counts = {len(launches[other].certain) if other in launches else 0 for other in rivals}
        if counts == {len(own.certain)}:
            places[name] = tuple(sorted(own.certain))
    return places


def number_launches(rows: Sequence[SampleRow], places: Sequence[int]) -> None:
    """Number the launches of rows, given where those after the first begin."""
    if places:
        for row, launch in zip(rows, launches_at((row.start for row in rows), places), strict=True):
            row.launch = launch


def launches_at(starts: Iterable[int], places: Sequence[int]) -> list[int]:
    """The launches of samples at these places, given where those after the first begin."""
    return [1 + bisect_right(places, start) for start in starts]


def older_steps(times: Mapping[int, float]) -> list[int]:
    """The steps whose files an earlier launch left, by the times at which the files of each step were written.

    Such files show three signs: the newest file belongs to a step before the last; times rise with the steps of each
    launch; and the second launch began long after the end of the first, compared with the time between two files of one
    launch.
    """
    steps = sorted(times)
    if len(steps) < FAR:
        return []
    newest = max(range(len(steps)), key=lambda place: (times[steps[place]], place))
    left = steps[newest + 1 :]
    if not left:
        return []
    last = max(times[step] for step in left)
    begin = newest
    while begin and last < times[steps[begin - 1]] <= times[steps[begin]]:
        begin -= 1
    first_launch, second = [*steps[:begin], *left], steps[begin : newest + 1]
    gaps = [times[b] - times[a] for launch in (first_launch, second) for a, b in pairwise(launch)]
    apart = times[second[0]] - last
    is_orderly = all(gap >= 0 for gap in gaps)
    return left if is_orderly and len(second) > 1 and apart > max(GAP_S, 2 * max(gaps, default=0.0)) else []


class RunLaunches:
    """The launches that the sources of a run seem to have. One thread learns; any thread may ask for the doubts."""

    def __init__(self) -> None:
        self._places: dict[str, LaunchPlaces] = {}
        """By source, without those that never went back to an earlier step."""
        self._last_steps: dict[tuple[str, str], int] = {}
        """The last step of each source in each split."""
        self._unchecked: set[str] = set()
        """The sources whose new rows go back to earlier steps."""

    def learn(self, name: str, blocks: Sequence[StepBlock]) -> None:
        """Learn the steps of a part of a source."""
        for block in blocks:
            key = name, block.split
            last = self._last_steps.get(key, block.step)
            if block.step < last:
                self._unchecked.add(name)
            self._last_steps[key] = max(last, block.step)

    def forget(self, names: Collection[str]) -> None:
        """Forget sources that are gone, or were replaced."""
        if names:
            self._last_steps = {key: last for key, last in self._last_steps.items() if key[0] not in names}
            self._places = {name: places for name, places in self._places.items() if name not in names}
            self._unchecked |= {*names}

    def find(self, blocks_of: Callable[[str], Sequence[StepBlock] | None]) -> dict[str, tuple[int, ...]] | None:
        """Find the launches of all sources; None if no source goes back. `blocks_of` is None if a part is missing."""
        names, self._unchecked = self._unchecked, set()
        for name in names:
            blocks = blocks_of(name)
            if blocks is not None:
                self._places[name] = launches_of(blocks)
        return places_of(self._places, self._last_steps) if names else None

    def doubts(self) -> list[str]:
        """Where launches may have begun without a proof: a sentence for each source."""
        places, doubts = {**self._places}, []
        known = places_of(places, {**self._last_steps})
        for name, own in sorted(places.items()):
            steps = {**own.doubtful, **own.certain}
            left = sorted(steps.keys() - {*known.get(name, ())})
            if left:
                split, step = steps[left[0]]
                more = f", and so at {len(left) - 1:,} places behind" if len(left) > 1 else ""
                doubts.append(
                    f"{name} goes back to step {step} of {split} at {left[0]} and writes steps again{more}: if a "
                    "launch began there, all that the earlier one wrote counts as well. Next: move that out of the run"
                )
        return doubts
