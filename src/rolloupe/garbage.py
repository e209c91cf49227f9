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
    """Pause the collector over imports. What they make stays, so the collector never visits it later, either."""
    with gc_paused():
        yield
        gc.freeze()
