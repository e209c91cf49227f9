"""JSON lines: records as bytes, and an append-only file of them, written by one process.

Any value becomes JSON: NaN and infinities as null or bare, arrays of any library as lists, lone surrogates as escapes,
anything else as the name of its type. Loads only the standard library.
"""

import contextlib
import fcntl
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMPACT = (",", ":")

MAX_DEPTH = 100
MAX_BITS = 10_000
"""Longer integers become infinities: Python refuses to write more than 4,300 digits."""


def encoded(record: Mapping[str, Any], *, separators: tuple[str, str] | None = None, nan: bool = False) -> bytes:
    """Return a record as one line of UTF-8, with its newline.

    With `nan`, NaN and infinities are written as Python does, else as null. `plain` converts values that JSON lacks.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=nan, separators=separators)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(plain(record, nan=nan), ensure_ascii=False, allow_nan=nan, separators=separators)
    return text.encode("utf-8", "backslashreplace") + b"\n"  # which escapes lone surrogates as JSON does


def plain(value: Any, *, nan: bool = False, depth: int = MAX_DEPTH) -> Any:
    """Convert a value to JSON types: an array to a list, an object of an unknown type to the name of its type."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MAX_BITS else _number(math.inf if value > 0 else -math.inf, nan)
    if isinstance(value, float):
        return _number(value, nan)
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Mapping):
        named = {}
        for key, member in value.items():
            word = key if isinstance(key, str | int | float) else "null" if key is None else repr(key)[:200]
            named[str(word)] = plain(member, nan=nan, depth=depth - 1)
        return named
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(member, nan=nan, depth=depth - 1) for member in value]
    contents = listed(value)
    return type(value).__name__ if contents is value else plain(contents, nan=nan, depth=depth - 1)


def listed(value: Any) -> Any:
    """Return an array or scalar of NumPy, PyTorch or a similar library as lists and numbers; anything else as it is."""
    if isinstance(value, (str, bytes, Mapping)) or not callable(getattr(value, "tolist", None)):
        return value
    if callable(getattr(value, "detach", None)):
        value = value.detach().cpu()
    return value.tolist()


def _number(value: float, nan: bool) -> float | None:
    return float(value) if nan or math.isfinite(value) else None


TAIL_BYTES = 2**16


class Lines:
    """A file below a run's folder: `kind/producer.jsonl`."""

    def __init__(self, root: Path, kind: str, producer: str) -> None:
        self.path = root / kind / f"{producer}.jsonl"
        self._torn = root / "torn" / f"{producer}.jsonl"
        self._handle: int | None = None
        self._identity = (0, 0)
        self.vanished = 0
        """How often the file was gone before a write."""

    def append(self, lines: Sequence[bytes]) -> None:
        """Append complete lines: all of them or, if that fails, none. Raises `OSError`."""
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
        """Take the file for this process; False if another live process has it. Raises `OSError`."""
        try:
            return self._opened() is not None
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Release the file."""
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
                if is_taken(handle):
                    raise BlockingIOError  # noqa: TRY301
                self._heal(handle)
            except BaseException:
                os.close(handle)
                raise
            self._handle, self._identity = handle, _identity_of(self.path)
        return self._handle

    def _heal(self, handle: int) -> None:
        """Move half a line that a killed process left to `torn/`."""
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


def is_taken(handle: int, *, is_shared: bool = False) -> bool:
    """Lock a file, perhaps shared; True if another process holds the lock. Some network file systems have no locks."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _identity_of(path: Path) -> tuple[int, int]:
    try:
        state = path.stat()
    except OSError:
        return (0, 0)
    return state.st_dev, state.st_ino
