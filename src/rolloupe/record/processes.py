"""The recorders of this process: which one a folder and a name belong to, and what a fork or an end does to them."""

import atexit
import os
import re
import weakref
from collections.abc import Callable, Iterator
from itertools import count, islice
from multiprocessing.util import Finalize
from typing import Protocol

from rolloupe.record.values.coerce import word

MAX_NAMES = 10_000


class OpenRecorder(Protocol):
    """A recorder, as far as this module knows it."""

    def close(self) -> None:
        """Write what waits, and end."""
        ...

    def forked(self) -> None:
        """Called in a process that was forked off from the one that made it."""
        ...


_alive: "weakref.WeakValueDictionary[tuple[str, str], OpenRecorder]" = weakref.WeakValueDictionary()
"""By folder and name: another one of the same takes the place of the former."""


def make_way(path: str, name: str) -> None:
    """Close the recorder of that folder and name, as where a cell of a notebook is run again."""
    former = _alive.get((path, name))
    if former is not None:
        former.close()


def enter(path: str, name: str, recorder: OpenRecorder) -> None:
    """Take note of a recorder."""
    _alive[path, name] = recorder


def at_the_end(close: Callable[[], None]) -> None:
    """Have a recorder closed when this process ends."""
    atexit.register(close)
    Finalize(None, close, exitpriority=10)  # processes of multiprocessing end without atexit


def wanted_name(producer: object) -> str:
    """What a process is to be called: a name that a file can have, in the folder where it is looked for."""
    given = word(producer) or f"rank{os.environ.get('RANK', '0')}"
    return re.sub(r"[^A-Za-z0-9_.-]", "_", given).lstrip(".")[:100] or "rank0"


def ranks(producer: object) -> int | None:
    """How many processes there are of which this is one; None for one that has a name of its own."""
    if producer:
        return None
    told = os.environ.get("WORLD_SIZE", "1")
    return int(told) if told.isdecimal() and len(told) < 10 else None


def names(wanted: str) -> Iterator[str]:
    """The names that a process may have, in order: another process may have the first."""
    return islice((wanted if nth == 1 else f"{wanted}-{nth}" for nth in count(1)), MAX_NAMES)


def _after_fork() -> None:
    for recorder in list(_alive.values()):
        recorder.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
