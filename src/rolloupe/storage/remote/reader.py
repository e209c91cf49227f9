"""An object as a file: ranges of it, fetched before they are asked for where somebody says what they will read.

All ranges are of one state of the object. If it is replaced meanwhile, reading ends with `ReplacedObject`.
"""

import contextlib
import io
import itertools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, TypeVar

from rolloupe.lru import Lru
from rolloupe.storage.remote import tree
from rolloupe.storage.remote.calls import ObjectState
from rolloupe.storage.remote.failures import OtherBytes, ReplacedObject

T = TypeVar("T")

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

_small: Lru[tuple[str, str], memoryview] = Lru(total=SMALL_TOTAL_BYTES)
"""Whole small objects, by path and tag."""

RECENT_BLOCKS = 5
RECENT_BYTES = 24 * 2**20
_recent: Lru[tuple[str, str], "tuple[_Block, ...]"] = Lru(total=RECENT_BYTES)
"""Blocks that this process has read, by path and tag: a sample is often shown right after its scan."""

_soon: Lru[tuple[str, str], "tuple[_Block, ...]"] = Lru(total=2 * AHEAD_BYTES)
"""Blocks that this process will read, by path and tag, on their way or fetched."""


class _Threads:
    """Threads that fetch. The end of the process does not wait for them, as a store may be silent."""

    def __init__(self) -> None:
        self._tasks = queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]]()
        self._idle = threading.Semaphore(0)
        self._started = itertools.count()

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Call a function in one of the threads."""
        future = Future[T]()
        self._tasks.put((future, call))
        if not self._idle.acquire(blocking=False) and next(self._started) < REQUESTS:
            threading.Thread(target=self._serve, name="remote read", daemon=True).start()
        return future

    def _serve(self) -> None:
        while True:
            future, call = self._tasks.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)
            del future, call
            self._idle.release()


_fetchers, _beginners = _Threads(), _Threads()
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
        self._ahead: list[_Block] = []
        """Announced blocks that were not read yet, on their way or fetched."""
        self._kept: deque[_Block] = deque()
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
        for block in self._ahead:
            block.data.cancel()
        self._ahead.clear()
        self._kept.clear()
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
        for start, stop in joined:
            blocks = ((at, min(at + BLOCK_BYTES, stop)) for at in range(start, stop, BLOCK_BYTES))
            self._plan.extend(block for block in blocks if not self._is_known(*block))
        self._top_up()

    def fetch_for_others(self, start: int, stop: int) -> None:
        """Begin to fetch a range for other readers of this object."""
        if self._state.size <= SMALL_BYTES:
            self._whole()
            return
        self.expect([(start, stop)])
        if self._state.tag:
            blocks = tuple(self._ahead)
            _soon.put((self._path, self._state.tag), blocks, sum(one.stop - one.start for one in blocks))
            self._ahead.clear()

    def _top_up(self) -> None:
        waiting = sum(block.stop - block.start for block in self._ahead)
        while self._plan and waiting < AHEAD_BYTES and len(self._ahead) < REQUESTS:
            start, stop = self._plan.popleft()
            self._ahead.append(_Block(start, stop, _fetchers.submit(partial(self._fetch, start, stop))))
            waiting += stop - start

    def _data_at(self, at: int, wanted: int) -> tuple[int, memoryview]:
        """Return a block that contains a place, and where it starts."""
        if self._state.size <= SMALL_BYTES:
            return 0, self._whole()
        blocks = (*_known_blocks(self._path, self._state), *self._kept)
        block = next((one for one in reversed(blocks) if one.start <= at < one.stop), None)
        if block is None:
            block = next((one for one in self._ahead if one.start <= at < one.stop), None)
            if block is None:
                block = self._on_demand(at, wanted)
            else:
                self._ahead.remove(block)
            self._keep(block)
            block.data.result()
            _remember(self._path, self._state, block)
        data = block.data.result()
        self._is_pinned = True
        self._top_up()
        return block.start, data

    def _is_known(self, start: int, stop: int) -> bool:
        return any(one.start <= start and stop <= one.stop for one in _known_blocks(self._path, self._state))

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

    def _keep(self, block: _Block) -> None:
        """Keep a block that is read now, and let go of the oldest ones beyond some."""
        self._kept.append(block)
        kept_bytes = sum(one.stop - one.start for one in self._kept)
        while kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            old = self._kept.popleft()
            kept_bytes -= old.stop - old.start

    def _whole(self) -> memoryview:
        key = (self._path, self._state.tag)
        data = _small.get(key) if self._state.tag else None
        if data is None:
            data = self._fetch(0, self._state.size)
            _small.put((self._path, self._state.tag), data, len(data))
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


def _known_blocks(path: str, state: ObjectState) -> Iterator[_Block]:
    """The blocks of an object that this process has read or begun to fetch, without failed ones."""
    for blocks in (_soon, _recent) if state.tag else ():
        for block in blocks.get((path, state.tag)) or ():
            if not (block.data.done() and block.data.exception()):
                yield block


def _remember(path: str, state: ObjectState, block: _Block) -> None:
    if state.tag and block.stop - block.start >= FIRST_BYTES:
        blocks = (*(_recent.get((path, state.tag)) or ()), block)[-RECENT_BLOCKS:]
        _recent.put((path, state.tag), blocks, sum(one.stop - one.start for one in blocks))


def fetch_beginnings(paths: Iterable[str], length: int) -> None:
    """Fetch the beginnings of some objects at once for their next readers."""

    def fetch(path: str) -> None:
        with contextlib.suppress(OSError), open_object(path) as file:
            file.read(length)

    for one in [_beginners.submit(partial(fetch, path)) for path in paths]:
        one.result()


def fetch_soon(path: str, start: int, stop: int) -> None:
    """Begin to fetch a range of an object for its next reader."""

    def begin() -> None:
        with contextlib.suppress(OSError):
            file = _RemoteFile(path, tree.object_state(path))
            file.fetch_for_others(start, stop)

    _beginners.submit(begin)


def open_object(path: str) -> io.RawIOBase:
    """Open an object. Raises OSError."""
    return _RemoteFile(path, tree.object_state(path))
