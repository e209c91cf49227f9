"""One append-only file of JSON lines, written by one process: torn ends healed, failed writes undone."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TAIL_BYTES = 2**16


class Lines:
    """A file below a run's folder: `kind/producer.jsonl`."""

    def __init__(self, root: Path, kind: str, producer: str) -> None:
        self.path = root / kind / f"{producer}.jsonl"
        self._torn = root / "torn" / f"{producer}.jsonl"
        self._handle: int | None = None
        self._identity = (0, 0)
        self.vanished = 0
        """How often the file was gone when it was to be written."""

    def append(self, lines: Sequence[bytes]) -> None:
        """Write lines, their ends included, at the end: all of them or, if that fails, none. Raises `OSError`."""
        if not lines:
            return
        handle = self._opened()
        before = os.fstat(handle).st_size
        data = memoryview(b"".join(lines))
        try:
            while data:
                data = data[os.write(handle, data) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(handle, before)
            raise

    def claim(self) -> bool:
        """Take the file for this process; False where another one that lives has it. Raises `OSError`."""
        try:
            return self._opened() is not None
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Let go of the file."""
        handle, self._handle = self._handle, None  # first, since two threads may end a recorder
        if handle is not None:
            os.close(handle)

    def _opened(self) -> int:
        if self._handle is not None and _identity_of(self.path) != self._identity:
            self.vanished += 1
            self.close()
        if self._handle is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                if fcntl is not None:
                    with _where_locks_work():
                        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._heal(handle)
            except BaseException:
                os.close(handle)
                raise
            self._handle, self._identity = handle, _identity_of(self.path)
        return self._handle

    def _heal(self, handle: int) -> None:
        """Move the end of a line that a killed process left behind to `torn/`."""
        size = start = os.fstat(handle).st_size
        pieces: list[bytes] = []
        while start and (not pieces or b"\n" not in pieces[-1]):
            step = min(TAIL_BYTES, start)
            start -= step
            pieces.append(os.pread(handle, step, start))
        tail = b"".join(reversed(pieces))
        rest = tail[tail.rfind(b"\n") + 1 :]
        if not rest:
            return
        self._torn.parent.mkdir(parents=True, exist_ok=True)
        with self._torn.open("ab") as file:
            file.write(rest + b"\n")
        os.ftruncate(handle, size - len(rest))


@contextlib.contextmanager
def _where_locks_work() -> Iterator[None]:
    """Some network file systems have no locks; there the name of a producer must be its own."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError:
        pass


def _identity_of(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return state.st_dev, state.st_ino
