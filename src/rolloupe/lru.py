"""A cache of values by key, which drops the least recently used values first."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """At most `entries` values of at most `total` size together; threads may share it.

    It keeps the newest `least` values even if they exceed `total`.
    """

    def __init__(self, entries: int = sys.maxsize, total: int = 0, least: int = 0) -> None:
        self._entries, self._total, self._least = entries, total, least
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.size = 0
        """The size of all values together."""

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """Return the value for a key, now the most recently used one; None without one."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def get_or_make(self, key: K, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """Return the value for a key, made now if it is missing. A value larger than the total is not kept."""
        value = self.get(key)
        if value is None:
            value = make()
            if (value_size := size(value)) <= self._total:
                self.put(key, value, value_size)
        return value

    def setdefault(self, key: K, value: V) -> V:
        """Return the value for a key as `get` does; keep this value, of no size, for a new key."""
        with self._lock:
            if key not in self._values:
                self._put(key, value, 0)
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, size: int = 0) -> list[V]:
        """Keep a value. Returns the values that went to make room."""
        with self._lock:
            return self._put(key, value, size)

    def _put(self, key: K, value: V, size: int) -> list[V]:
        self.size += size - self._values.pop(key, (value, 0))[1]
        self._values[key] = value, size
        old_values = []
        while len(self._values) > self._least and (len(self._values) > self._entries or self.size > self._total):
            _, (old, old_size) = self._values.popitem(last=False)
            self.size -= old_size
            old_values.append(old)
        return old_values

    def pop(self, key: K) -> None:
        """Forget the value for a key, if there is one."""
        with self._lock:
            _, size = self._values.pop(key, (None, 0))
            self.size -= size

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()
            self.size = 0
