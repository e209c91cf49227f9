"""What a store does that a person should know while they wait: that it asks for fewer requests, or does not answer."""

import threading
from collections.abc import Callable

_lock = threading.Lock()
_notices: dict[str, str] = {}
_listeners: list[Callable[[str], None]] = []


def say(place: str, words: str) -> None:
    """Note what a bucket does, and tell whoever listens."""
    with _lock:
        is_new = place not in _notices
        _notices[place] = words
        listeners = [*_listeners] if is_new else []
    for listener in listeners:
        listener(words)


def clear(place: str) -> None:
    """Note that a bucket answers."""
    if place in _notices:
        with _lock:
            _notices.pop(place, None)


def notice(place: str) -> str:
    """Return the notice about a bucket; empty without one."""
    return _notices.get(place, "")


def listen(listener: Callable[[str], None]) -> None:
    """Call a function with each new notice, in whatever thread it arises. The same function is called once."""
    with _lock:
        if listener not in _listeners:
            _listeners.append(listener)


def forget() -> None:
    """Forget all notices, and who listens."""
    with _lock:
        _notices.clear()
        _listeners.clear()
