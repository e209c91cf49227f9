"""Calls to stores, with limits of time and memory. They wait for a store that asks for patience, and say so.

The client of an object store reads lists and errors whole, whatever their size, before it returns. Linux counts the
bytes that came over each connection; readers of bodies count theirs.
"""

import contextlib
import errno
import itertools
import os
import queue
import random
import resource
import socket
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from rolloupe.storage import notices
from rolloupe.storage.address import Interrupted, parts_of
from rolloupe.storage.remote.failures import Throttled, failure

COUNTED_S = 0.03
"""The shortest interval between two looks at all connections."""

_FACTS = struct.Struct("120xQQ")
"""Where `tcp_info` says how many bytes the other side has confirmed, and how many came."""

_lock = threading.Lock()


class Body:
    """The body of an answer while it is read. Its size is known, so its reader notices extra bytes."""

    expected_of_all = 0
    """The bytes of all bodies; open ones may not have received all of theirs yet."""
    read_of_all = 0
    """The bytes received by bodies that are closed."""

    def __init__(self, size: int) -> None:
        self.size, self.came = size, 0

    def __enter__(self) -> Self:
        with _lock:
            Body.expected_of_all += self.size
        return self

    def __exit__(self, *_: object) -> None:
        came = min(self.came, self.size)
        with _lock:
            Body.expected_of_all -= self.size - came
            Body.read_of_all += came


class Traffic:
    """The bytes that this process has received since the first question, without the bodies of answers."""

    counted_s = float("-inf")
    """When the bytes of all connections were last counted, on behalf of all waiting calls."""
    sizes: ClassVar[dict[int, int] | None] = {}
    came_in_all = 0

    def __init__(self) -> None:
        self._before: int | None = None

    def may_exceed(self, size: int) -> bool:
        """Tell whether more bytes may have come; also true if the system does not count them."""
        with _lock:
            if time.monotonic() - Traffic.counted_s > COUNTED_S:
                before, Traffic.sizes = Traffic.sizes or {}, _sizes()
                sizes = (Traffic.sizes or {}).items()
                Traffic.came_in_all += sum(max(0, came - before.get(number, 0)) for number, came in sizes)
                Traffic.counted_s = time.monotonic()
            if Traffic.sizes is None:
                return True
            if self._before is None:  # the bytes of open bodies have not come yet
                self._before = Traffic.came_in_all - Body.read_of_all
            return Traffic.came_in_all - Body.expected_of_all - self._before > size


def _sizes() -> dict[int, int] | None:
    """The bytes that came over each open connection, by the inode of its socket; None if the system does not tell."""
    sizes, tells = dict[int, int](), False
    try:
        for entry in os.scandir("/proc/self/fd"):
            with suppress(OSError):  # not TCP, or closed by now
                state = entry.stat()
                if not stat.S_ISSOCK(state.st_mode):
                    continue
                with socket.fromfd(int(entry.name), socket.AF_INET, socket.SOCK_STREAM) as connection:
                    facts = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                confirmed, sizes[state.st_ino] = _FACTS.unpack_from(facts)
                tells = tells or confirmed > 0 or sizes[state.st_ino] > 0
    except (OSError, AttributeError, struct.error):
        return None
    return sizes if tells or not sizes else None  # a system may have the call but not these numbers


FIRST_WAIT_S, MOST_WAIT_S = 0.5, 16.0
PATIENCE_S = 60.0
"""The longest wait for a store that asks for fewer requests."""

SILENCE_S = 5.0
"""The time without an answer after which a notice says so."""

MOST_S = 30.0
"""The longest time for one answer: a list may name a next page for ever."""

MOST_BYTES = 80 * 2**20
"""The most memory that one answer may take: lists and errors may have any size."""

LEAST_RECEIVED = MOST_BYTES // 8
"""The answer takes the memory only if at least this much came over the network; otherwise something else does."""

LETS_GO_S = 0.3
"""The time that obstore gets to give up a call: its threads would abort once the interpreter is gone."""

LOOK_S = 0.03
"""The interval at which an answer under way is checked."""

T = TypeVar("T")


class ObjectState(NamedTuple):
    """What a listing says about an object."""

    size: int
    mtime_ns: int
    tag: str
    """The ETag, which every write changes."""


class FolderListing(NamedTuple):
    """The entries directly below a prefix, by name."""

    objects: Mapping[str, ObjectState]
    folders: frozenset[str]


def patiently(scheme: str, bucket: str, path: str, begin: Callable[[], Future[T]], *, is_long: bool = False) -> T:
    """Return the result of a call; while the store asks for fewer requests, wait and say so. Raises OSError."""
    wait_s, began = FIRST_WAIT_S, time.monotonic()
    place = f"{scheme}://{parts_of(path)[1]}"
    while True:
        try:
            result = _answer(place, begin, is_long=is_long)
        except Exception as error:
            known = failure(error, scheme, bucket, path)
            if not isinstance(known, Throttled):
                notices.clear(place)
                raise known from None
            if time.monotonic() - began + wait_s > PATIENCE_S:
                raise known from None
        else:
            notices.clear(place)
            return result
        notices.say(place, f"{scheme}://{bucket} asks for fewer requests: waiting {wait_s:.1f} s")
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads requests, keeps no secret
        wait_s = min(MOST_WAIT_S, 2 * wait_s)


def _answer(place: str, begin: Callable[[], Future[T]], *, is_long: bool) -> T:
    """Return the result of a call; a notice says if it takes long. Raises `Interrupted` at the limits."""
    began, silence_s, network, memory_before = time.monotonic(), SILENCE_S, Traffic(), memory_bytes()
    answer = begin()
    try:
        while not wait((answer,), LOOK_S).done:
            waited_s = time.monotonic() - began
            if waited_s >= silence_s:
                silence_s += SILENCE_S
                notices.say(place, f"{place} has not answered for {waited_s:.0f} s: waiting")
            if is_long:
                continue
            if waited_s > MOST_S:
                raise Interrupted(errno.ETIMEDOUT, f"{place} did not end an answer within {MOST_S:.0f} s{NOT_SEEN}")
            if network.may_exceed(LEAST_RECEIVED) and memory_bytes() - memory_before > MOST_BYTES:
                reason = f"{place} sends more than {MOST_BYTES // 2**20} MiB in one answer{NOT_SEEN}"
                raise Interrupted(errno.EFBIG, reason)
    finally:
        if answer.cancel():
            time.sleep(LETS_GO_S)
    return answer.result()


NOT_SEEN = ": nothing of that was seen. Next: name a folder below, or a file"


class Threads:
    """Up to `most` threads that make calls. The process ends without waiting for them: a store may be silent."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self._most = most
        self._tasks = queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]]()
        self._idle = threading.Semaphore(0)
        self._started = itertools.count()

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Call a function in one of the threads. A call that has begun cannot be stopped; only the wait for it can."""
        future = Future[T]()
        self._tasks.put((future, call))
        if not self._idle.acquire(blocking=False) and next(self._started) < self._most:
            threading.Thread(target=self._serve, name="remote call", daemon=True).start()
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


in_thread = Threads().submit
"""Begins a call in a thread of its own."""


def memory_bytes() -> int:
    """Return the memory of this process; on systems that do not tell, the most that it ever had."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
