"""Splits the work on a run among processes that share nothing but the index folder: a job array on a cluster.

The split follows from the names of the sources alone, so all processes make the same, and a source that appears later
moves few others. A large file is split further, into blocks of parts, unless it is compressed: its parts are found one
after the other.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from rolloupe import text
from rolloupe.index.segments.grid import grid_span, has_open_grid, parts_of
from rolloupe.index.sources import Sources
from rolloupe.model import RunInfo

BLOCK_PARTS = 16
"""Neighbouring parts of a file belong to one shard: storage reads long ranges more quickly."""


class RunShard(NamedTuple):
    """One of the shards of a run; the first has the number 1."""

    number: int
    total: int


class OwnParts:
    """The parts of the sources of a run that this process indexes: those of its shard, or all."""

    def __init__(self, shard: RunShard | None, run: RunInfo, sources: Sources, *, splittable: bool) -> None:
        self._shard = shard
        self._sources, self._splittable = sources, splittable
        place = f"{run.root}\n{run.within}".encode("utf-8", "surrogateescape")
        self._first = int.from_bytes(hashlib.blake2b(place, digest_size=4).digest())
        """The shard of the first source: runs of one file each go to different shards."""
        self._ranks: dict[str, int] = {}
        self.has_joined = False
        """True once it indexes the parts of other shards, too."""

    @property
    def is_shard(self) -> bool:
        """True for the parts of a shard, False for all."""
        return self._shard is not None

    def update(self) -> None:
        """Split again after the sources changed."""
        if self._shard is not None:
            names = sorted(self._sources.all(), key=lambda name: (text.natural(name), name))
            self._ranks = {name: rank for rank, name in enumerate(names)}

    def join_others(self) -> None:
        """Own the parts of all shards from now on."""
        self.has_joined, self._shard = True, None

    def has(self, source: str, part: int) -> bool:
        """Tell whether this process indexes a part."""
        if self._shard is None:
            return True
        place = self._sources.all().get(source)
        block = 0 if place is None or self._is_open(place.source.path) else part // BLOCK_PARTS
        return (self._first + self._ranks.get(source, 0) + block) % self._shard.total == self._shard.number - 1

    def size_bytes(self) -> int:
        """The size of the parts."""
        if self._shard is None:
            return self._sources.size_bytes()
        return sum(stop - start for name in self._ranks for start, stop in self._spans(name))

    def _spans(self, name: str) -> Iterator[tuple[int, int]]:
        """The ranges of a source that belong to the shard."""
        place = self._sources.all()[name]
        size = place.state.size
        if not self._splittable or self._is_open(place.source.path):
            if self.has(name, 0):
                yield 0, size
            return
        for part in range(0, parts_of(self._splittable, size), BLOCK_PARTS):
            if self.has(name, part):
                yield grid_span(part)[0], min(size, grid_span(part + BLOCK_PARTS - 1)[1])

    def _is_open(self, path: str) -> bool:
        return has_open_grid(self._splittable, path)
