"""JSON lines and how they reach a file: whole under a temporary name, or appended in one write.

Any value becomes JSON: NaN and infinities as they are asked for, arrays of any library as lists, halves of surrogate
pairs as escapes, anything else as the name of its type. Loads nothing but the standard library.
"""

import json
import logging
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("rolloupe.record")

MAX_DEPTH = 100
MAX_BITS = 10_000
"""Python refuses to write integers of more than 4,300 digits; a longer one becomes an infinity."""

_LONE = re.compile("[\ud800-\udfff]")


def encoded(record: Mapping[str, Any], *, separators: tuple[str, str] | None = None, nan: bool = False) -> bytes:
    """Return a record as one line of UTF-8, its newline included.

    `nan`: NaN and infinities are written as Python writes them; else as null. What is no JSON is made so: see `plain`.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=nan, separators=separators)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(plain(record, nan=nan), ensure_ascii=False, allow_nan=nan, separators=separators)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return _LONE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode() + b"\n"


def plain(value: Any, *, nan: bool = False, depth: int = MAX_DEPTH) -> Any:
    """Return a value as JSON has it. An array becomes a list, an object of an unknown kind the name of its type."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MAX_BITS else _number(math.inf if value > 0 else -math.inf, nan)
    if isinstance(value, float):
        return _number(value, nan)
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Mapping):
        return {_key(key): plain(member, nan=nan, depth=depth - 1) for key, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member, nan=nan, depth=depth - 1) for member in value]
    found = listed(value)
    return type(value).__name__ if found is value else plain(found, nan=nan, depth=depth - 1)


def listed(value: Any) -> Any:
    """Return an array or scalar of NumPy, PyTorch and their kin as lists and numbers; anything else as it is."""
    if isinstance(value, str | bytes | Mapping) or not callable(getattr(value, "tolist", None)):
        return value
    if callable(getattr(value, "detach", None)):
        value = value.detach().cpu()
    return value.tolist()


def _number(value: float, nan: bool) -> float | None:
    return float(value) if nan or math.isfinite(value) else None


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    return "null" if key is None else str(key) if isinstance(key, int | float) else repr(key)[:200]


def write_whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file under a temporary name and rename it into place: whoever reads it finds it whole, or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            file.writelines(lines)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def append(path: Path, data: bytes) -> None:
    """Append lines in one write. A line that a crash left torn is ended first, so that it is lost alone.

    Where another appends at that moment its line may look torn, and a blank line, which readers pass over, follows it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(handle).st_size
        if size and data and os.pread(handle, 1, size - 1) != b"\n":
            data = b"\n" + data
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


class Guard:
    """Keeps what goes wrong while recording away from the training loop: counted, told of once, raised where asked."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.failures = 0
        """How many calls have failed."""
        self._what = what
        self._strict = strict

    def call(self, work: Callable[[], T], otherwise: T) -> T:
        """Do some work; where it fails, say so the first time and return `otherwise`, or raise if `strict`."""
        try:
            return work()
        except Exception as error:
            self.failures += 1
            if self._strict:
                raise
            if self.failures == 1:
                log.warning("%s: not written, training goes on: %s: %s", self._what, type(error).__name__, error)
            return otherwise


def member(sample: Any, name: str, default: Any = None) -> Any:
    """Return what a sample has under a name, whether it is an object or a dict."""
    return sample.get(name, default) if isinstance(sample, Mapping) else getattr(sample, name, default)
