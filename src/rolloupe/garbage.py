"""Pauses the garbage collector over work that makes many objects without cycles: it would visit them all each time."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the collector. Threads may do so at once."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Pause the collector over imports. It never visits what is there afterwards: nearly all of it stays."""
    with gc_paused():
        yield
        gc.freeze()


def collect_as_usual() -> None:
    """Collect after as many new objects as Python does by default, in a process that stays."""
    gc.set_threshold(700, 10, 10)
