"""Encoded replies in memory, the least recently used first out, bounded by bytes and by number.

A key holds the run's version, so what is in here is never wrong, only no longer asked for. `clear` drops the memory
and nothing else: the index on disk is no cache of replies, and dropping it would cost a new scan of every source.
"""

import threading
from collections import OrderedDict
from typing import NamedTuple

ENTRY_BYTES = 512
"""What an entry costs beside its body."""


class Reply(NamedTuple):
    """An encoded reply."""

    body: bytes
    media_type: str


class CacheFigures(NamedTuple):
    """What is in a cache, and how often it helped."""

    entries: int
    memory_bytes: int
    hits: int
    misses: int


class ReplyCache:
    """Replies by key. Not for what is larger than a quarter of it: one giant sample must not push out all others."""

    def __init__(self, limit_bytes: int, limit_entries: int) -> None:
        self.limit_bytes = limit_bytes
        self.limit_entries = limit_entries
        self._replies: OrderedDict[tuple[str, ...], Reply] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = self._hits = self._misses = 0

    def get(self, key: tuple[str, ...]) -> Reply | None:
        """The reply of that key, if it is here."""
        with self._lock:
            reply = self._replies.get(key)
            if reply is None:
                self._misses += 1
            else:
                self._hits += 1
                self._replies.move_to_end(key)
            return reply

    def put(self, key: tuple[str, ...], reply: Reply) -> None:
        """Keep a reply, and let go of the oldest where there is no room."""
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
        """Let go of everything; the counts of hits and misses begin again."""
        with self._lock:
            self._replies.clear()
            self._bytes = self._hits = self._misses = 0

    def figures(self) -> CacheFigures:
        """How full it is."""
        with self._lock:
            return CacheFigures(len(self._replies), self._bytes, self._hits, self._misses)


def _size(key: tuple[str, ...], reply: Reply) -> int:
    return sum(map(len, key)) + len(reply.body) + ENTRY_BYTES
