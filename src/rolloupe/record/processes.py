"""The recorders of this process, by folder and name, and what they do when the process forks or ends."""

import atexit
import os
import re
import weakref
from collections.abc import Callable, Iterator
from itertools import count, islice
from multiprocessing.util import Finalize
from typing import Protocol

from rolloupe.record.arguments import word

MAX_NAMES = 10_000


class OpenRecorder(Protocol):
    """The part of a recorder that this module uses."""

    def close(self) -> None:
        """Write what waits, and end."""
        ...

    def forked(self) -> None:
        """Called in a process forked from the recorder's own."""
        ...


_alive: "weakref.WeakValueDictionary[tuple[str, str], OpenRecorder]" = weakref.WeakValueDictionary()
"""By folder and name; a newer recorder replaces an older one."""


def make_way(path: str, name: str) -> None:
    """Close the recorder of that folder and name, for example when a notebook cell runs again."""
    former = _alive.get((path, name))
    if former is not None:
        former.close()


def enter(path: str, name: str, recorder: OpenRecorder) -> None:
    """Register a recorder."""
    _alive[path, name] = recorder


def at_the_end(close: Callable[[], None]) -> None:
    """Close a recorder when this process ends."""
    atexit.register(close)
    Finalize(None, close, exitpriority=10)  # multiprocessing skips atexit


def wanted_name(producer: object) -> str:
    """Return the name for this process: one that is valid as a file name in the run's folder."""
    name = word(producer) or f"rank{os.environ.get('RANK', '0')}"
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".")[:100] or "rank0"


def ranks(producer: object) -> int | None:
    """Return the number of processes of which this is one; None if the process has a name of its own."""
    if producer:
        return None
    world_size = os.environ.get("WORLD_SIZE", "1")
    return int(world_size) if world_size.isdecimal() and len(world_size) < 10 else None


def names(wanted: str) -> Iterator[str]:
    """Yield the names that the process may take, in order: another process may hold the first."""
    return islice((wanted if nth == 1 else f"{wanted}-{nth}" for nth in count(1)), MAX_NAMES)


def _after_fork() -> None:
    for recorder in list(_alive.values()):
        recorder.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
