"""Encoded replies in memory, bounded by bytes and by number; the least recently used goes first.

A key contains the run's version, so a cached reply is never wrong, only unused. `clear` frees memory only: the index on
disk is not a cache of replies, and without it every source would need a new scan.
"""

import threading
from collections import OrderedDict
from typing import NamedTuple

ENTRY_BYTES = 512
"""Memory of an entry in addition to its body."""


class Reply(NamedTuple):
    """An encoded reply."""

    body: bytes
    media_type: str


class CacheFigures(NamedTuple):
    """The size of a cache, and its hits and misses."""

    entries: int
    memory_bytes: int
    hits: int
    misses: int


class ReplyCache:
    """Replies by key. Rejects replies above a quarter of its size: one giant sample must not evict all others."""

    def __init__(self, limit_bytes: int, limit_entries: int) -> None:
        self.limit_bytes = limit_bytes
        self.limit_entries = limit_entries
        self._replies: OrderedDict[tuple[str, ...], Reply] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = self._hits = self._misses = 0

    def get(self, key: tuple[str, ...]) -> Reply | None:
        """Return the reply for a key, if it is cached."""
        with self._lock:
            reply = self._replies.get(key)
            if reply is None:
                self._misses += 1
            else:
                self._hits += 1
                self._replies.move_to_end(key)
            return reply

    def put(self, key: tuple[str, ...], reply: Reply) -> None:
        """Cache a reply, and evict the oldest ones to make room."""
        with self._lock:
            old = self._replies.pop(key, None)
            self._bytes -= _size(key, old) if old else 0
            if _size(key, reply) * 4 > self.limit_bytes:
                return
            self._replies[key] = reply
            self._bytes += _size(key, reply)
            while self._bytes > self.limit_bytes or len(self._replies) > self.limit_entries:
                self._bytes -= _size(*self._replies.popitem(last=False))

    def clear(self) -> None:
        """Drop everything, and reset the counts of hits and misses."""
        with self._lock:
            self._replies.clear()
            self._bytes = self._hits = self._misses = 0

    def figures(self) -> CacheFigures:
        """Return the size of the cache, and its hits and misses."""
        with self._lock:
            return CacheFigures(len(self._replies), self._bytes, self._hits, self._misses)


def _size(key: tuple[str, ...], reply: Reply) -> int:
    return sum(map(len, key)) + len(reply.body) + ENTRY_BYTES
