"""Connections to buckets: what is listed, looked up and read there, with patience for stores that ask for it."""

import datetime as dt
import errno
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar, cast

from rolloupe.storage import notices
from rolloupe.storage.address import address_of, parts_of
from rolloupe.storage.places import Interrupted
from rolloupe.storage.remote import stores
from rolloupe.storage.remote.failures import EXTRA, ReplacedObject, Throttled, failure, unusable

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 16.0
PATIENCE_S = 60.0
"""The longest wait for a store that asks for fewer requests."""

SILENCE_S = 5.0
"""After so long without an answer, a person hears of it."""
MOST_S = 180.0
"""How long one answer may go on: a list may name a next page for ever."""
UPLOADED_AT_ONCE = 3
"""How many parts of an object, so that each is sent within the time of a silent server."""

LATEST_S = 2**33
"""The latest time of an object, in the year 2242: a later one is taken for that."""

_WEAK = 'W/"'
"""What stands around a tag. A proxy that compresses marks it as weak."""

T = TypeVar("T")


class ObjectState(NamedTuple):
    """What a listing says about an object."""

    size: int
    mtime_ns: int
    tag: str
    """The ETag: another one after every write."""


class ObjectVersion(TypedDict, total=False):
    """What a store takes for one version of an object: stores compare the one or the other."""

    e_tag: str
    version: str


class FolderListing(NamedTuple):
    """What lies directly below a prefix, by name."""

    objects: Mapping[str, ObjectState]
    folders: frozenset[str]


class Connection(Protocol):
    """A bucket, a container, a host, the data sets of the hub. All methods raise OSError."""

    rest_s: float
    """How long its listings count at least."""

    def list(self, key: str) -> FolderListing:
        """List what lies directly below a key: nothing if there is no such folder."""

    def state(self, key: str) -> ObjectState:
        """Return the state of one object."""

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        """Read a range of the object in that state. Raises `ReplacedObject` if it has another by now."""

    def below(self, key: str) -> dict[str, ObjectState]:
        """List all objects below a key, however deep, by the rest of their keys."""

    def write(self, key: str, chunks: Callable[[], Iterable[bytes]]) -> None:
        """Put an object that consists of these bytes, in place of what had its key."""


class ObstoreConnection:
    """A `Connection` through obstore."""

    rest_s = 0.0

    def __init__(self, scheme: str, bucket: str) -> None:
        self._scheme, self._bucket = scheme, bucket
        try:
            import obstore
        except ImportError:
            raise OSError(errno.ENOPKG, EXTRA, f"/{scheme}:/{bucket}") from None
        self._obstore = obstore
        try:
            self._store = stores.opened_store(scheme, bucket)
        except Exception as error:
            raise unusable(error, scheme, bucket) from None

    def list(self, key: str) -> FolderListing:
        """See `Connection`."""
        prefix = f"{key}/" if key else ""
        try:
            found = self._patiently(key, lambda: self._obstore.list_with_delimiter(self._store, key or None))
        except OSError as error:
            if self._scheme in ("http", "https") and error.errno != errno.EHOSTUNREACH:
                raise FileNotFoundError(errno.ENOENT, "does not exist", self._path(key)) from None  # few list folders
            raise
        objects = {
            one["path"][len(prefix) :]: _state_of(one) for one in found["objects"] if one["path"].startswith(prefix)
        }
        folders = frozenset(name[len(prefix) :].strip("/") for name in found["common_prefixes"])
        return FolderListing({name: one for name, one in objects.items() if name and name not in folders}, folders)

    def state(self, key: str) -> ObjectState:
        """See `Connection`."""
        return _state_of(self._patiently(key, lambda: self._obstore.head(self._store, key)))

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        """See `Connection`."""
        options: dict[str, Any] = {"range": (start, stop)}
        if state.tag and not state.tag.startswith("W/"):
            options["if_match"] = state.tag
        else:
            options["if_unmodified_since"] = dt.datetime.fromtimestamp(-(-state.mtime_ns // 10**9), dt.UTC)

        def get() -> tuple[str, memoryview]:
            result = self._obstore.get(self._store, key, options=options)
            return _tag_of(result.meta), memoryview(result.bytes())

        tag, data = self._patiently(key, get)
        if len(data) != stop - start or (tag and state.tag and tag.strip(_WEAK) != state.tag.strip(_WEAK)):
            raise ReplacedObject(self._path(key))  # also of servers that know no conditions
        return data

    def below(self, key: str) -> dict[str, ObjectState]:
        """See `Connection`."""
        prefix = f"{key}/" if key else ""
        pages = self._patiently(key, lambda: [*self._obstore.list(self._store, key or None)])
        return {one["path"].removeprefix(prefix): _state_of(one) for page in pages for one in page}

    def write(self, key: str, chunks: Callable[[], Iterable[bytes]]) -> None:
        """See `Connection`."""
        self._patiently(
            key,
            lambda: self._obstore.put(self._store, key, iter(chunks()), max_concurrency=UPLOADED_AT_ONCE),
            is_long=True,
        )

    def get(self, key: str, most_bytes: int, known: ObjectVersion | None = None) -> tuple[bytes, ObjectVersion] | None:
        """Return an object whole, and its version; None if that is the known one.

        Raises OSError, also for an object of more than so many bytes.
        """
        options: Any = {"if_none_match": known["e_tag"]} if known and "e_tag" in known else {}

        def call() -> tuple[bytes, ObjectVersion] | None:
            try:
                result = self._obstore.get(self._store, key, options=options)
            except self._obstore.exceptions.NotModifiedError:
                return None
            if (size := result.meta["size"]) > most_bytes:
                reason = f"{address_of(self._path(key))} has {size:,} bytes, {most_bytes:,} at most make sense"
                raise OSError(errno.EFBIG, f"{reason}. Next: delete it", self._path(key))
            return bytes(result.bytes()), _version_of(result.meta)

        return self._patiently(key, call)

    def stream(self, key: str, size: int) -> Iterator[bytes]:
        """Yield the bytes of an object in pieces. Raises OSError, and `ReplacedObject` for one of another size."""
        result = self._patiently(key, lambda: self._obstore.get(self._store, key))
        if result.meta["size"] != size:
            raise ReplacedObject(self._path(key))
        try:
            yield from map(bytes, result.stream())
        except Exception as error:
            raise failure(error, self._scheme, self._bucket, self._path(key)) from None

    def swap(self, key: str, data: bytes, before: ObjectVersion | None) -> ObjectVersion | None:
        """Put an object in place of this version of it, or of none; None if there is another by now. Raises OSError."""
        mode: Any = before or "create"
        lost = self._obstore.exceptions.AlreadyExistsError, self._obstore.exceptions.PreconditionError

        def call() -> ObjectVersion | None:
            try:
                result = self._obstore.put(self._store, key, data, mode=mode, use_multipart=False)
            except lost:
                return None
            return _version_of(result)

        return self._patiently(key, call)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects. Raises OSError."""
        if keys:
            self._patiently(keys[0], lambda: self._obstore.delete(self._store, keys))

    def _path(self, key: str) -> str:
        return f"/{self._scheme}:/{self._bucket}/{key}".rstrip("/")

    def _patiently(self, key: str, call: Callable[[], T], *, is_long: bool = False) -> T:
        return patiently(self._scheme, self._bucket, self._path(key), call, is_long=is_long)


def patiently(scheme: str, bucket: str, path: str, call: Callable[[], T], *, is_long: bool = False) -> T:
    """Return the result of a call; if the store asks for fewer requests, wait longer each time, and say so.

    Raises OSError.
    """
    wait_s, began = FIRST_WAIT_S, time.monotonic()
    place = f"{scheme}://{parts_of(path)[1]}"
    while True:
        try:
            result = _answer(place, call, None if is_long else MOST_S)
        except Exception as error:
            known = failure(error, scheme, bucket, path)
            if not isinstance(known, Throttled):
                notices.clear(place)
                raise known from None
            if time.monotonic() - began + wait_s > PATIENCE_S:
                raise known from None
        else:
            notices.clear(place)
            return result
        notices.say(place, f"{scheme}://{bucket} asks for fewer requests: waiting {wait_s:.1f} s")
        time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads requests, keeps no secret
        wait_s = min(MOST_WAIT_S, 2 * wait_s)


def _answer(place: str, call: Callable[[], T], most_s: float | None) -> T:
    """Return the result of a call, and say so if it takes long. In a thread of its own, so that waiting can end."""

    def fetch() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    answer = Future[T]()
    threading.Thread(target=fetch, name="remote call", daemon=True).start()
    if not wait((answer,), SILENCE_S).done:
        notices.say(place, f"{place} has not answered for {SILENCE_S:.0f} s: waiting")
        if not wait((answer,), most_s).done:
            reason = f"{place} did not end an answer within {most_s:.0f} s. Next: name a folder below, or a file"
            raise Interrupted(errno.ETIMEDOUT, reason)
    return answer.result()


def _version_of(meta: Any) -> ObjectVersion:
    return cast("ObjectVersion", {name: meta[name] for name in ("e_tag", "version") if meta.get(name)})


def _state_of(meta: Any) -> ObjectState:
    modified = meta["last_modified"]
    seconds = min(max(0, int(modified.timestamp())), LATEST_S)
    return ObjectState(meta["size"], seconds * 10**9 + modified.microsecond * 1000, _tag_of(meta))


def _tag_of(meta: Any) -> str:
    """The tag of an object in quotes, which listings of Azure and Google leave out."""
    tag = str(meta.get("e_tag") or meta.get("version") or "")
    return f'"{tag}"' if tag and not tag.endswith('"') else tag


def _connected(scheme: str, bucket: str) -> Connection:
    if scheme == "hf":
        from rolloupe.storage.remote.hub import HubConnection

        return HubConnection(bucket)
    return ObstoreConnection(scheme, bucket)


_connections: dict[tuple[str, str], Connection] = {}
_lock = threading.Lock()


def connection(scheme: str, bucket: str) -> Connection:
    """Return the connection to a bucket, opened once. Raises OSError."""
    with _lock:
        if (scheme, bucket) not in _connections:
            _connections[scheme, bucket] = _connected(scheme, bucket)
        return _connections[scheme, bucket]
