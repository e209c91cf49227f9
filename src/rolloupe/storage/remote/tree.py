"""Folders and objects of stores, as a file system would list them.

One request lists a folder with the state of every object in it, and costs as much as looking up one object. So states
come from listings: a folder that was listed once is listed again when somebody asks after `FRESH_S`, and its entries
are never looked up by themselves. Two readers within that time see the same state.
"""

import contextlib
import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from rolloupe.lru import Lru
from rolloupe.storage import notices
from rolloupe.storage.address import REMOTE_DEVICE, Interrupted, RemoteEntry, parts_of
from rolloupe.storage.remote import connection, stores
from rolloupe.storage.remote.calls import FolderListing, ObjectState

FRESH_S = float(os.environ.get("ROLLOUPE_REMOTE_POLL_S", "2"))
"""The time for which a listing counts as current."""

MAX_REST_S = 60.0
"""A listing counts as current for at least the time that it took, up to this."""

KEPT_LISTINGS = 50_000

T = TypeVar("T")


listings: Lru[str, tuple[FolderListing, float]] = Lru(KEPT_LISTINGS)
"""The last listing of each folder, and until when it is current."""
states: Lru[str, tuple[ObjectState | None, float]] = Lru(KEPT_LISTINGS)
"""The same for objects; None stands for an object that is not there."""
_locks: Lru[str, threading.Lock] = Lru(KEPT_LISTINGS)


def connection_of(path: str) -> tuple[connection.Connection, str]:
    """Return the connection for a remote path, and the key in it. Raises OSError."""
    scheme, bucket, key = parts_of(path)
    if not bucket:
        raise FileNotFoundError(errno.ENOENT, f"{scheme}:// names no bucket. Next: write {scheme}://BUCKET/PATH", path)
    stores.check(scheme, bucket, key)
    return connection.connection(scheme, bucket), key


def entries(path: str) -> list[RemoteEntry]:
    """List a folder. Raises OSError, also for a folder with nothing in it, which stores do not have."""
    if _is_known_to_lack(path):
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    listing = _listing(path)
    if not any(listing) and parts_of(path)[2]:
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    return [
        *(RemoteEntry(name, _number(path, name), folder=True) for name in sorted(listing.folders)),
        *(RemoteEntry(name, _number(path, name, state.tag), folder=False) for name, state in listing.objects.items()),
    ]


def object_state(path: str) -> ObjectState:
    """Return the state of the object at a path. Raises OSError."""

    def ask(link: connection.Connection, key: str) -> ObjectState | None:
        with contextlib.suppress(FileNotFoundError):
            return link.state(key)
        return None

    above, name = os.path.split(path)
    if listings.get(above) is not None:
        state = _listing(above).objects.get(name)
    else:
        state = None if _is_known_to_lack(path) else _ask(states, path, ask)
    if state is None:
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    return state


def path_state(path: str) -> os.stat_result:
    """Return the state of the object or the folder at a path. Raises OSError."""
    folder = _stat(stat.S_IFDIR | 0o555, _number(path), 0, 0)
    known = listings.get(path)
    if (known is not None and any(known[0])) or not parts_of(path)[2]:
        entries(path)
        return folder
    above, name = os.path.split(path)
    try:
        if "." not in name and listings.get(above) is None:  # a folder, probably
            with contextlib.suppress(FileNotFoundError):
                entries(path)
                return folder
        return stat_of(path, object_state(path))
    except Interrupted:
        raise  # a second question to a silent store would take as long again
    except OSError as error:
        if listings.get(above) is not None and name not in _listing(above).folders:
            raise
        try:
            entries(path)  # the error of a listing has a reason; that of an object has none
        except FileNotFoundError as missing:
            raise missing if "Next:" in (missing.strerror or "") else error from None
        return folder


def stat_of(path: str, state: ObjectState) -> os.stat_result:
    """Return the state of an object as that of a file; every write changes its inode.

    The inode is odd if the tag depends on more than the bytes: the parts of an upload, or its time, as on Azure.
    """
    is_loose = "-" in state.tag or parts_of(path)[0] == "az"
    number = _number(path, state.tag or f"{state.size} {state.mtime_ns}") * 2 + is_loose
    return _stat(stat.S_IFREG | 0o444, number, state.size, state.mtime_ns)


def forget(path: str) -> None:
    """Forget the listing and the state of a path that has changed."""
    listings.pop(os.path.dirname(path))
    states.pop(path)


def _stat(mode: int, number: int, size: int, mtime_ns: int) -> os.stat_result:
    seconds = mtime_ns // 10**9
    times = {"st_mtime_ns": mtime_ns, "st_mtime": mtime_ns / 1e9}
    return os.stat_result((mode, number, REMOTE_DEVICE, 1, 0, 0, size, seconds, seconds, seconds), times)


def _number(*words: str) -> int:
    data = "\0".join(words).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=7).digest())


def _is_known_to_lack(path: str) -> bool:
    """True if a current listing of a folder above has nothing at a path."""
    above, name = os.path.split(path)
    while parts_of(above)[1] and above != path:
        known = listings.get(above)
        if known is not None and time.monotonic() < known[1]:
            return name not in known[0].folders and name not in known[0].objects
        path = above
        above, name = os.path.split(path)
    return False


def _listing(path: str) -> FolderListing:
    """List a folder, unless a listing is current, or another thread lists it at this moment."""
    known = listings.get(path)
    is_asked = _locks.setdefault(path, threading.Lock()).locked()
    if known is not None and is_asked and time.monotonic() < known[1] + MAX_REST_S:
        return known[0]
    return _ask(listings, path, lambda link, key: link.list(key))


def _ask(cache: Lru[str, tuple[T, float]], path: str, ask: Callable[[connection.Connection, str], T]) -> T:
    """Ask a store, unless its last answer is current. If the store fails, its last answer counts. Raises OSError."""
    with _locks.setdefault(path, threading.Lock()):
        known = cache.get(path)
        began = time.monotonic()
        if known is not None and began < known[1]:
            return known[0]
        link, key = connection_of(path)
        try:
            answer = ask(link, key)
        except FileNotFoundError:
            raise
        except OSError as error:
            if known is None:
                raise
            scheme, bucket, _ = parts_of(path)
            notices.say(f"{scheme}://{bucket}", f"{error.strerror or error}; shown is what was there before")
            answer = known[0]
        now = time.monotonic()
        until_s = max(began + max(FRESH_S, link.rest_s), now + min(now - began, MAX_REST_S))
        cache.put(path, (answer, until_s))
        return answer
