"""An object as a file: ranges of it, fetched before they are asked for where somebody says what they will read.

All ranges are of one state of the object. If it is replaced meanwhile, reading ends with `ReplacedObject`.
"""

import contextlib
import io
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from rolloupe.lru import Lru
from rolloupe.storage.remote import tree
from rolloupe.storage.remote.calls import ObjectState, Threads
from rolloupe.storage.remote.failures import OtherBytes, ReplacedObject

BLOCK_BYTES = 4 * 2**20
"""One request: smaller ones spend their time waiting, with larger ones the first bytes come late."""

AHEAD_BYTES = 3 * BLOCK_BYTES
"""How much is on its way at once."""

REQUESTS = 24
FIRST_BYTES = 2**18
"""The first read at a place that was not announced; each further block in order is four times as large."""

TRIES = 3
"""How often to open an object that is replaced before a byte of it was read."""

KEPT_BYTES = 8 * 2**20
NEAR_BYTES = 2**17
"""Announced ranges this near to each other are fetched together."""

SMALL_BYTES = 2**18
SMALL_TOTAL_BYTES = 64 * 2**20

small_objects: Lru[tuple[str, str], memoryview] = Lru(total=SMALL_TOTAL_BYTES)
"""Whole small objects, by path and tag."""

RECENT_BLOCKS = 5
RECENT_BYTES = 24 * 2**20
recent_blocks: Lru[tuple[str, str], "tuple[_Block, ...]"] = Lru(total=RECENT_BYTES)
"""Blocks that this process has read, by path and tag: a sample is often shown right after its scan."""

soon_blocks: Lru[tuple[str, str], "tuple[_Block, ...]"] = Lru(total=2 * AHEAD_BYTES)
"""Blocks that this process will read, by path and tag, on their way or fetched."""


_fetchers, beginners = Threads(REQUESTS), Threads(REQUESTS)
"""Beginners wait for fetchers."""


class _Block(NamedTuple):
    start: int
    stop: int
    data: "Future[memoryview]"


class _RemoteFile(io.RawIOBase):
    """An object, open for reading."""

    def __init__(self, path: str, state: ObjectState) -> None:
        self._path = path
        self._connection, self._key = tree.connection_of(path)
        self._state = state
        self._is_pinned = False
        """True once a caller has seen a state or a byte: from then on it must be the same object."""
        self._at = 0
        self._plan: deque[tuple[int, int]] = deque()
        self.ahead: list[_Block] = []
        """Announced blocks that were not read yet, on their way or fetched."""
        self.kept: deque[_Block] = deque()
        """Blocks that were read, the latest last."""
        self._window = FIRST_BYTES
        self._last_stop = -1

    def state(self) -> os.stat_result:
        """Return the state of the object that is read."""
        self._is_pinned = True
        return tree.stat_of(self._path, self._state)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._is_pinned = self._is_pinned or whence == os.SEEK_END
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._state.size}[whence]
        if base + offset < 0:
            raise OSError(22, "a place before the beginning", self._path)
        self._at = base + offset
        return self._at

    def readinto(self, into: Any) -> int:
        view = memoryview(into).cast("B")
        if self._at >= self._state.size or not len(view):
            return 0
        for tries in range(TRIES, 0, -1):
            try:
                start, data = self._data_at(self._at, len(view))
                break
            except ReplacedObject:
                if self._is_pinned or tries == 1:
                    raise
                self._state = tree.object_state(self._path)  # nobody has seen anything of the other one
                self._let_go()
        piece = data[self._at - start : self._at - start + len(view)]
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._let_go()
        super().close()

    def _let_go(self) -> None:
        for block in self.ahead:
            block.data.cancel()
        self.ahead.clear()
        self.kept.clear()
        self._plan.clear()

    def expect(self, spans: Iterable[tuple[int, int]]) -> None:
        """Fetch ranges that will be read, in this order, as far ahead as memory allows."""
        size = self._state.size
        if size <= SMALL_BYTES:
            return
        joined: list[list[int]] = []
        for start, stop in sorted((max(0, start), min(stop, size)) for start, stop in spans):
            if joined and start - joined[-1][1] <= NEAR_BYTES:
                joined[-1][1] = max(joined[-1][1], stop)
            elif start < stop:
                joined.append([start, stop])
        self._plan.clear()
        known = [*_known_blocks(self._path, self._state)]
        for first, last in joined:
            for start in range(first, last, BLOCK_BYTES):
                stop = min(start + BLOCK_BYTES, last)
                if not any(block.start <= start and stop <= block.stop for block in known):
                    self._plan.append((start, stop))
        self._top_up()

    def fetch_for_others(self, start: int, stop: int) -> None:
        """Begin to fetch a range for other readers of this object."""
        if self._state.size <= SMALL_BYTES:
            self._whole()
            return
        self.expect([(start, stop)])
        if self._state.tag:
            soon_blocks.put((self._path, self._state.tag), tuple(self.ahead), _bytes_of(self.ahead))
            self.ahead.clear()

    def _top_up(self) -> None:
        while self._plan and _bytes_of(self.ahead) < AHEAD_BYTES and len(self.ahead) < REQUESTS:
            start, stop = self._plan.popleft()
            self.ahead.append(_Block(start, stop, _fetchers.submit(partial(self._fetch, start, stop))))

    def _data_at(self, at: int, wanted: int) -> tuple[int, memoryview]:
        """Return a block that contains a place, and where it starts."""
        if self._state.size <= SMALL_BYTES:
            return 0, self._whole()
        blocks = (*_known_blocks(self._path, self._state), *self.kept)
        block = next((known for known in reversed(blocks) if known.start <= at < known.stop), None)
        if block is None:
            block = next((known for known in self.ahead if known.start <= at < known.stop), None)
            if block is None:
                block = self._on_demand(at, wanted)
            else:
                self.ahead.remove(block)
            self.kept.append(block)
            while len(self.kept) > 1 and _bytes_of(self.kept) > KEPT_BYTES:
                self.kept.popleft()
            block.data.result()
            if self._state.tag and block.stop - block.start >= FIRST_BYTES:
                key = self._path, self._state.tag
                recent = (*(recent_blocks.get(key) or ()), block)[-RECENT_BLOCKS:]
                recent_blocks.put(key, recent, _bytes_of(recent))
        data = block.data.result()
        self._is_pinned = True
        self._top_up()
        return block.start, data

    def _on_demand(self, at: int, wanted: int) -> _Block:
        """Fetch a place that was not announced; for readers in order, larger blocks and ahead."""
        in_order = at == self._last_stop
        self._window = min(BLOCK_BYTES, 4 * self._window) if in_order else FIRST_BYTES
        stop = min(self._state.size, at + max(self._window, min(wanted, BLOCK_BYTES)))
        block = _Block(at, stop, Future())
        block.data.set_result(self._fetch(at, stop))
        self._last_stop = stop
        if in_order and not self._plan and stop < self._state.size:
            self._last_stop = min(self._state.size, stop + self._window)
            self._plan.append((stop, self._last_stop))
        return block

    def _whole(self) -> memoryview:
        key = (self._path, self._state.tag)
        data = small_objects.get(key) if self._state.tag else None
        if data is None:
            data = self._fetch(0, self._state.size)
            small_objects.put((self._path, self._state.tag), data, len(data))
        self._is_pinned = True
        return data

    def _fetch(self, start: int, stop: int) -> memoryview:
        try:
            return self._connection.read(self._key, start, stop, self._state)
        except (ReplacedObject, FileNotFoundError) as error:
            tree.forget(self._path)
            if isinstance(error, ReplacedObject) and tree.object_state(self._path) == self._state:
                raise OtherBytes(self._path) from None
            if self._is_pinned:
                raise ReplacedObject(self._path) from None
            raise error from None


def _bytes_of(blocks: Iterable[_Block]) -> int:
    return sum(block.stop - block.start for block in blocks)


def _known_blocks(path: str, state: ObjectState) -> Iterator[_Block]:
    """The blocks of an object that this process has read or begun to fetch, without failed ones."""
    for blocks in (soon_blocks, recent_blocks) if state.tag else ():
        for block in blocks.get((path, state.tag)) or ():
            if not (block.data.done() and block.data.exception()):
                yield block


def fetch_beginnings(paths: Iterable[str], length: int) -> None:
    """Fetch the beginnings of some objects at once for their next readers."""

    def fetch(path: str) -> None:
        with contextlib.suppress(OSError), open_object(path) as file:
            file.read(length)

    for fetched in [beginners.submit(partial(fetch, path)) for path in paths]:
        fetched.result()


def fetch_soon(path: str, start: int, stop: int) -> None:
    """Begin to fetch a range of an object for its next reader."""

    def begin() -> None:
        with contextlib.suppress(OSError):
            file = _RemoteFile(path, tree.object_state(path))
            file.fetch_for_others(start, stop)

    beginners.submit(begin)


def open_object(path: str) -> io.RawIOBase:
    """Open an object. Raises OSError."""
    return _RemoteFile(path, tree.object_state(path))
