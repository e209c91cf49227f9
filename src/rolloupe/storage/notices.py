"""Notices about stores for a person who waits: a store asks for fewer requests, or does not answer."""

import threading
from collections.abc import Callable

_lock = threading.Lock()
_notices: dict[str, str] = {}
_listeners: list[Callable[[str], None]] = []


def say(place: str, words: str) -> None:
    """Add a notice about a bucket, and pass a new one to the listeners."""
    with _lock:
        is_new = place not in _notices
        _notices[place] = words
        listeners = [*_listeners] if is_new else []
    for listener in listeners:
        listener(words)


def clear(place: str) -> None:
    """Remove the notice about a bucket, which answers again."""
    if place in _notices:
        with _lock:
            _notices.pop(place, None)


def notice(place: str) -> str:
    """Return the notice about a bucket; empty without one."""
    return _notices.get(place, "")


def listen(listener: Callable[[str], None]) -> None:
    """Call a function with each new notice, in the thread where it arises. Adding a function twice has no effect."""
    with _lock:
        if listener not in _listeners:
            _listeners.append(listener)


def forget() -> None:
    """Remove all notices and listeners."""
    with _lock:
        _notices.clear()
        _listeners.clear()
