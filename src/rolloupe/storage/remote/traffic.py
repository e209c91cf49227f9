"""How much this process receives over the network, but for what is counted where it is read.

An object store's client reads lists and errors whole, of any size, before it says a word. Linux says of each connection
how many bytes came.
"""

import os
import socket
import stat
import struct
import threading
import time
from contextlib import suppress
from typing import Self

LOOK_S = 0.03
"""The shortest interval between two looks at all connections."""

_FACTS = struct.Struct("120xQQ")
"""Where `tcp_info` says how many bytes the other side has confirmed, and how many came."""


_lock = threading.Lock()


class Body:
    """The body of an answer, while it is read: its size is known, so whoever reads it notices if there is more."""

    expected_of_all = 0
    """How many bytes all bodies have; those that are open may lack some yet."""
    read_of_all = 0
    """How many came of those that are no longer open."""

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
    """What comes from its first look on, beside bodies."""

    def __init__(self) -> None:
        self._before: int | None = None

    def may_be(self, size: int) -> bool:
        """Tell whether more than so much has come, or the system does not say."""
        with _lock:
            came = _connections.came()
            if came is None:
                return True
            if self._before is None:  # what is to come of open bodies has not come yet
                self._before = came - Body.read_of_all
            return came - Body.expected_of_all - self._before > size


class _Connections:
    """How much came over the connections of this process, since some time in the past."""

    def __init__(self) -> None:
        self._looked_s = float("-inf")
        self._sizes: dict[int, int] | None = {}
        self._came = 0

    def came(self) -> int | None:
        if time.monotonic() - self._looked_s > LOOK_S:  # once for all that wait for answers
            before, self._sizes = self._sizes or {}, _sizes()
            self._came += sum(max(0, size - before.get(one, 0)) for one, size in (self._sizes or {}).items())
            self._looked_s = time.monotonic()
        return None if self._sizes is None else self._came


_connections = _Connections()


def _sizes() -> dict[int, int] | None:
    """How many bytes came over each open connection, by the inode of its socket."""
    sizes, tells = dict[int, int](), False
    try:
        for entry in os.scandir("/proc/self/fd"):
            with suppress(OSError):  # not TCP, or closed by now
                state = entry.stat()
                if not stat.S_ISSOCK(state.st_mode):
                    continue
                with socket.fromfd(int(entry.name), socket.AF_INET, socket.SOCK_STREAM) as one:
                    facts = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                confirmed, sizes[state.st_ino] = _FACTS.unpack_from(facts)
                tells = tells or confirmed > 0 or sizes[state.st_ino] > 0
    except (OSError, AttributeError, struct.error):
        return None
    return sizes if tells or not sizes else None  # a system may have the call, and not these numbers
