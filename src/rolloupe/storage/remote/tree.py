"""Folders and objects of stores, as a file system would list them.

One request lists a folder with the state of every object in it, and costs as much as looking up one object. So states
come from listings: a folder that was listed once is listed again when somebody asks after `FRESH_S`, and whatever
lies in it is never looked up by itself. Two readers within that time see the same state.
"""

import contextlib
import errno
import hashlib
import os
import stat
import threading
import time
from typing import NamedTuple

from rolloupe.lru import Lru
from rolloupe.storage import notices
from rolloupe.storage.address import REMOTE_DEVICE, Interrupted, parts_of
from rolloupe.storage.remote import stores
from rolloupe.storage.remote.calls import FolderListing, ObjectState
from rolloupe.storage.remote.connection import Connection, connection

FRESH_S = float(os.environ.get("ROLLOUPE_REMOTE_POLL_S", "2"))
"""The time for which a listing counts as current."""

MAX_REST_S = 60.0
"""A listing that takes t is good for at least t, up to this."""

KEPT_LISTINGS = 50_000


class _KnownListing(NamedTuple):
    """A listing, and until when it counts."""

    until_s: float
    found: FolderListing


class _KnownState(NamedTuple):
    """The state of an object, None for one that is not there, and until when it counts."""

    until_s: float
    found: ObjectState | None


class RemoteEntry(NamedTuple):
    """An entry of a folder, as `os.DirEntry` has it."""

    name: str
    number: int
    folder: bool

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        return self.folder

    def is_file(self) -> bool:
        """Tell whether it is an object."""
        return not self.folder

    def is_symlink(self) -> bool:
        """Stores have no links."""
        return False

    def inode(self) -> int:
        """Return a number that no other entry has."""
        return self.number


_listings: Lru[str, _KnownListing] = Lru(KEPT_LISTINGS)
_states: Lru[str, _KnownState] = Lru(KEPT_LISTINGS)
_locks: Lru[str, threading.Lock] = Lru(KEPT_LISTINGS)


def connection_of(path: str) -> tuple[Connection, str]:
    """Return the connection for a remote path, and the key in it. Raises OSError."""
    scheme, bucket, key = parts_of(path)
    if not bucket:
        raise FileNotFoundError(errno.ENOENT, f"{scheme}:// names no bucket. Next: write {scheme}://BUCKET/PATH", path)
    stores.check(scheme, bucket, key)
    return connection(scheme, bucket), key


def entries(path: str) -> list[RemoteEntry]:
    """List a folder. Raises OSError, also for a folder with nothing in it, which stores do not have."""
    if _is_known_to_lack(path):
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    listing = _listing(path)
    if not (listing.objects or listing.folders) and parts_of(path)[2]:
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    return [
        *(RemoteEntry(name, _number(path, name), folder=True) for name in sorted(listing.folders)),
        *(RemoteEntry(name, _number(path, name, one.tag), folder=False) for name, one in listing.objects.items()),
    ]


def object_state(path: str) -> ObjectState:
    """Return the state of the object at a path. Raises OSError."""
    above, name = os.path.split(path)
    state = None
    if _listings.get(above) is not None:
        state = _listing(above).objects.get(name)
    elif not _is_known_to_lack(path):
        state = _looked_up(path)
    if state is None:
        raise FileNotFoundError(errno.ENOENT, "does not exist", path)
    return state


def path_state(path: str) -> os.stat_result:
    """Return the state of what lies at a path, an object or a folder. Raises OSError."""
    if _is_listed(path) or not parts_of(path)[2]:
        entries(path)
        return _stat(stat.S_IFDIR | 0o555, _number(path), 0, 0)
    above, name = os.path.split(path)
    try:
        if "." not in name and _listings.get(above) is None:  # a folder, probably
            with contextlib.suppress(FileNotFoundError):
                entries(path)
                return _stat(stat.S_IFDIR | 0o555, _number(path), 0, 0)
        return stat_of(path, object_state(path))
    except Interrupted:
        raise  # asked again, a store that does not answer would take as long again
    except OSError as error:
        if _listings.get(above) is not None and name not in _listing(above).folders:
            raise
        try:
            entries(path)  # an error of a listing says why; one of an object has no words
        except FileNotFoundError as missing:
            raise missing if "Next:" in (missing.strerror or "") else error from None
        return _stat(stat.S_IFDIR | 0o555, _number(path), 0, 0)


def stat_of(path: str, state: ObjectState) -> os.stat_result:
    """Return the state of an object, as of a file: another inode after every write.

    The inode is odd where the tag was made of several parts, or of the moment, as on Azure: then other bytes have
    another tag, but not the reverse.
    """
    is_loose = "-" in state.tag or parts_of(path)[0] == "az"
    number = _number(path, state.tag or f"{state.size} {state.mtime_ns}") * 2 + is_loose
    return _stat(stat.S_IFREG | 0o444, number, state.size, state.mtime_ns)


def forget(path: str) -> None:
    """Forget the listing and the state of a path that has changed."""
    _listings.pop(os.path.dirname(path))
    _states.pop(path)


def _stat(mode: int, number: int, size: int, mtime_ns: int) -> os.stat_result:
    seconds = mtime_ns // 10**9
    times = {"st_mtime_ns": mtime_ns, "st_mtime": mtime_ns / 1e9}
    return os.stat_result((mode, number, REMOTE_DEVICE, 1, 0, 0, size, seconds, seconds, seconds), times)


def _number(*words: str) -> int:
    data = "\0".join(words).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(data, digest_size=7).digest())


def _is_listed(path: str) -> bool:
    known = _listings.get(path)
    return known is not None and bool(known.found.objects or known.found.folders)


def _is_known_to_lack(path: str) -> bool:
    """True if a current listing of a folder above has nothing at a path."""
    above, name = os.path.split(path)
    while parts_of(above)[1] and above != path:
        known = _listings.get(above)
        if known is not None and time.monotonic() < known.until_s:
            return name not in known.found.folders and name not in known.found.objects
        path = above
        above, name = os.path.split(path)
    return False


def _listing(path: str) -> FolderListing:
    """List a folder, unless a listing is current. If the store does not answer, its last listing counts."""
    lock = _locks.setdefault(path, threading.Lock())
    known = _listings.get(path)
    if known is not None and lock.locked() and time.monotonic() < known.until_s + MAX_REST_S:
        return known.found  # another thread lists it at this moment
    with lock:
        known = _listings.get(path)
        if known is not None and time.monotonic() < known.until_s:
            return known.found
        began = time.monotonic()
        link, key = connection_of(path)
        try:
            found = link.list(key)
        except FileNotFoundError:
            raise
        except OSError as error:
            if known is None:
                raise
            _say(path, error)
            found = known.found
        now = time.monotonic()
        _listings.put(
            path, _KnownListing(max(began + max(FRESH_S, link.rest_s), now + min(now - began, MAX_REST_S)), found)
        )
        return found


def _say(path: str, error: OSError) -> None:
    scheme, bucket, _ = parts_of(path)
    notices.say(f"{scheme}://{bucket}", f"{error.strerror or error}; shown is what was there before")


def _looked_up(path: str) -> ObjectState | None:
    with _locks.setdefault(path, threading.Lock()):
        known = _states.get(path)
        if known is not None and time.monotonic() < known.until_s:
            return known.found
        link, key = connection_of(path)
        try:
            state = link.state(key)
        except FileNotFoundError:
            state = None
        except OSError as error:
            if known is None:
                raise
            _say(path, error)
            state = known.found
        _states.put(path, _KnownState(time.monotonic() + max(FRESH_S, link.rest_s), state))
        return state
