"""Launches: when a run was ended or killed and goes on, its lines say so.

A run that goes on from a checkpoint records steps again, perhaps with other groups or another number of ranks. What had
been recorded of them would stand beside it: so each line says which launch it is of, and of a step the last launch
counts. One begins where no process of the launch before lives, and this process was in it already or says another
number of ranks: a rank that is merely late joins, and so does a process that opens its run again. Who lives is told by
a lock which all processes of a launch share, so that nobody has to know of anybody.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


PATIENCE_S = 5.0
"""So long a process waits for others to begin: one that was stopped in the middle must not stop training."""


_ours: set[tuple[int, str, int]] = set()
"""The launches that this process was in: one that opens its run again, as notebooks do, goes on with its own."""


class Launch:
    """The launch that a process is of; its lock is held until `close`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._handle: int | None = None

    def join(self, producer: str, ranks: int, rows: Sequence[Mapping[str, Any]]) -> int:
        """Return the number of the launch that a process of so many ranks is of; `rows` tell of those before it.

        Called while nobody else looks. Raises `OSError`.
        """
        told = [row for row in rows if _is_told(row)]
        last, held = (told[-1]["launch"], told[-1]["ranks"]) if told else (1, ranks)
        was_there = any(row.get("producer") == producer for row in told if row["launch"] == last)
        is_ours = (os.getpid(), str(self._root), last) in _ours
        is_next = ((was_there and not is_ours) or held != ranks) and not self._lives(last)
        number = last + 1 if is_next else last
        _ours.add((os.getpid(), str(self._root), number))
        self._take(number)
        return number

    def close(self) -> None:
        """Let go of the lock."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _lives(self, number: int) -> bool:
        """Tell whether a process of a launch lives; one on a file system without locks is taken for dead."""
        if not self._place(number).exists():
            return False
        handle = os.open(self._place(number), os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(handle)
        return False

    def _take(self, number: int) -> None:
        self.close()
        if fcntl is not None:
            self._handle = os.open(self._place(number), os.O_RDWR | os.O_CREAT, 0o644)
            with contextlib.suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def _place(self, number: int) -> Path:
        return self._root / f".launch-{number}.lock"


def _is_told(row: Mapping[str, Any]) -> bool:
    return all(isinstance(row.get(key), int) and 0 < row[key] < 2**31 for key in ("launch", "ranks"))


def _is_taken(handle: int) -> bool:
    """Lock a file, or tell that another has it."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        pass
    return False


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Have a file for oneself while others want it, too, where file systems have locks. Raises `OSError`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        until = time.monotonic() + PATIENCE_S
        while _is_taken(handle) and time.monotonic() < until:
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)
