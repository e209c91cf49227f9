"""An object as a file: it reads ranges of the object, and fetches announced ranges ahead.

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
from rolloupe.storage.remote import calls, tree
from rolloupe.storage.remote.failures import OtherBytes, ReplacedObject

BLOCK_BYTES = 4 * 2**20
"""The size of one request: smaller requests mostly wait, and larger ones delay the first bytes."""

AHEAD_BYTES = 3 * BLOCK_BYTES
"""The most bytes on their way at once."""

REQUESTS = 24
FIRST_BYTES = 2**18
"""The size of the first block at a place that was not announced; each later block in order is four times larger."""

TRIES = 3
"""How often to open an object that is replaced before a byte of it was read."""

KEPT_BYTES = 8 * 2**20
NEAR_BYTES = 2**17
"""Announced ranges this near to each other are fetched together."""

SMALL_BYTES = 2**18
SMALL_TOTAL_BYTES = 64 * 2**20

small_objects: Lru[tuple[str, str], memoryview] = Lru(total=SMALL_TOTAL_BYTES)
"""Whole small objects, by path and tag."""

SHARED_BLOCKS = 12
SHARED_BYTES = 48 * 2**20
shared_blocks: Lru[tuple[str, str], "tuple[_Block, ...]"] = Lru(total=SHARED_BYTES)
"""By path and tag, the last blocks that this process has read, since a sample is often shown right after its scan, and
blocks that it reads next."""


_fetchers, beginners = calls.Threads(REQUESTS), calls.Threads(REQUESTS)
"""Two pools, because tasks of `beginners` wait for tasks of `_fetchers`."""


class _Block(NamedTuple):
    start: int
    stop: int
    data: "Future[memoryview]"


class _RemoteFile(io.RawIOBase):
    """An object, open for reading."""

    def __init__(self, path: str, state: calls.ObjectState) -> None:
        self._path = path
        self._connection, self._key = tree.connection_of(path)
        self._state = state
        self._is_pinned = False
        """True once a caller has seen a state or a byte: from then on, the object must stay the same."""
        self._at = 0
        self._plan: deque[tuple[int, int]] = deque()
        self.ahead: list[_Block] = []
        """Announced blocks that were not read yet, on their way or fetched."""
        self.kept: deque[_Block] = deque()
        """Blocks that were read, the latest last."""
        self._window = FIRST_BYTES
        self._last_stop = -1

    def state(self) -> os.stat_result:
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
                self._state = tree.object_state(self._path)  # nobody has seen anything of the former object
                self._let_go()
        piece = data[self._at - start : self._at - start + len(view)]  # type: ignore[pyrefly:unbound-name]
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
            self._share(self.ahead)
            self.ahead.clear()

    def _share(self, blocks: Iterable[_Block]) -> None:
        """Keep blocks for all readers of this object."""
        key = self._path, self._state.tag
        shared = (*dict.fromkeys((*(shared_blocks.get(key) or ()), *blocks)),)[-SHARED_BLOCKS:]
        shared_blocks.put(key, shared, _bytes_of(shared))

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
                self._share([block])
        data = block.data.result()
        self._is_pinned = True
        self._top_up()
        return block.start, data

    def _on_demand(self, at: int, wanted: int) -> _Block:
        """Fetch a block that was not announced; a sequential reader gets larger blocks, and the next one ahead."""
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


def _known_blocks(path: str, state: calls.ObjectState) -> Iterator[_Block]:
    """The blocks of an object that this process has read or begun to fetch, without failed ones."""
    for block in (shared_blocks.get((path, state.tag)) if state.tag else None) or ():
        if not (block.data.done() and block.data.exception()):
            yield block


def fetch_beginnings(paths: Iterable[str], length: int) -> None:
    """Fetch the beginnings of some objects at once for their next readers."""
    for begun in [fetch_soon(path, 0, max(length, FIRST_BYTES)) for path in paths]:
        begun.result()


def fetch_soon(path: str, start: int, stop: int) -> Future[None]:
    """Begin to fetch a range of an object for its next reader; a small object is whole once the future is done."""

    def begin() -> None:
        with contextlib.suppress(OSError):
            _RemoteFile(path, tree.object_state(path)).fetch_for_others(start, stop)

    return beginners.submit(begin)


def open_object(path: str) -> io.RawIOBase:
    """Open an object. Raises OSError."""
    return _RemoteFile(path, tree.object_state(path))
