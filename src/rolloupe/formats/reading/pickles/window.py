"""The bytes of a pickle, read block by block: a file of gigabytes never lies in memory."""

from collections.abc import Callable

BLOCK_BYTES = 2**20
MAX_LINE_BYTES = 2**16
"""Longest argument of an opcode of text, such as a name."""

Read = Callable[[int, int], bytes]
"""Returns so many bytes from a place on, fewer at the end. Raises `UnreadablePickle`."""


class UnreadablePickle(Exception):
    """Raised for a pickle that is damaged, too large, or of a kind that is not read; its text is the reason."""


class Window:
    """A place in a pickle of `size` bytes, and the bytes around it."""

    def __init__(self, read: Read, size: int, start: int = 0) -> None:
        self.read = read
        self.size = size
        self.data = b""
        self.base = start
        """Where in the pickle `data` begins."""
        self.at = 0
        """The place in `data`."""

    @classmethod
    def of(cls, data: bytes) -> "Window":
        """A window over bytes in memory."""
        return cls(lambda start, count: data[start : start + count], len(data))

    @property
    def place(self) -> int:
        """The place in the pickle."""
        return self.base + self.at

    def look(self, count: int) -> None:
        """Have so many bytes behind the place in `data`, fewer at the end."""
        if len(self.data) - self.at >= count or (self.data and self.base + len(self.data) >= self.size):
            return
        self.base += self.at
        wanted = min(max(count, BLOCK_BYTES), self.size - self.base)
        self.data, self.at = self.read(self.base, wanted) if wanted > 0 else b"", 0

    def byte(self) -> int:
        """Return the next byte. Raises `UnreadablePickle` at the end."""
        if self.at >= len(self.data):
            return self.take(1)[0]
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        """Return the next bytes. Raises `UnreadablePickle` if there are fewer."""
        if not 0 <= count <= self.size - self.place:
            raise UnreadablePickle(f"it ends at byte {self.size:,}, in the middle of a value")
        self.look(count)
        found = self.data[self.at : self.at + count]
        if len(found) < count:
            raise UnreadablePickle(f"it ends at byte {self.place + len(found):,}, in the middle of a value")
        self.at += count
        return found

    def skip(self, count: int) -> int:
        """Pass over so many bytes, and return where they began. Raises `UnreadablePickle` if there are fewer."""
        start = self.place
        if not 0 <= count <= self.size - start:
            raise UnreadablePickle(f"it ends at byte {self.size:,}, in the middle of a value")
        self.at += count
        return start

    def line(self) -> bytes:
        """Return the bytes up to the next newline, without it. Raises `UnreadablePickle` for a very long line."""
        self.look(MAX_LINE_BYTES)
        stop = self.data.find(b"\n", self.at, self.at + MAX_LINE_BYTES)
        if stop < 0:
            raise UnreadablePickle(f"a line at byte {self.place:,} has no end")
        found = self.data[self.at : stop]
        self.at = stop + 1
        return found
