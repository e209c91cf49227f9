"""Files that somebody appends to: what they hold is read once, and later from where the last look ended."""

from collections.abc import Callable

from rolloupe.model import Location
from rolloupe.storage import open_file, open_state

MAX_BYTES = 512 * 2**20
"""The most that is read of one file."""

BLOCK_BYTES = 4 * 2**20
LAST_BYTES = 64
"""How many of the bytes that were read last are compared: with others there, it is another file."""


class ReadSoFar:
    """How far a file has been read."""

    def __init__(self) -> None:
        self._stop = 0
        self._last = b""
        self._inode = (0, 0)

    def read_on(self, location: Location, take: Callable[[bytes], int]) -> bool:
        """Hand what was appended to `take`, which returns how many bytes it is done with and gets the others again.

        Returns False, and hands over nothing, for a file that shrank or was replaced. Raises OSError.
        """
        with open_file(location, buffering=0) as file:
            state = open_state(file)
            if self._stop:
                file.seek(self._stop - len(self._last))
                same = (state.st_dev, state.st_ino) == self._inode and file.read(len(self._last)) == self._last
                if not same:
                    return False
            self._inode = state.st_dev, state.st_ino
            rest = b""
            while block := file.read(min(max(BLOCK_BYTES, len(rest)), MAX_BYTES - self._stop - len(rest))):
                rest += block
                done = take(rest)
                self._stop += done
                self._last = (self._last + rest[max(0, done - LAST_BYTES) : done])[-LAST_BYTES:]
                rest = rest[done:]
        return True
