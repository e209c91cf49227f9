"""Connections to buckets: what is listed, looked up and read there, with patience for stores that ask for it."""

import datetime as dt
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypedDict, TypeVar, cast

from rolloupe.storage import notices
from rolloupe.storage.address import address_of
from rolloupe.storage.remote.failures import ANONYMOUS, ENDPOINT, EXTRA, ReplacedObject, Throttled, failure

FIRST_WAIT_S = 0.5
MOST_WAIT_S = 16.0
PATIENCE_S = 60.0
"""The longest wait for a store that asks for fewer requests."""

RETRIES = 2
"""Of obstore, for failures that go by."""

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
        self._store = self._patiently("", lambda: _store(scheme, bucket))

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
        self._patiently(key, lambda: self._obstore.put(self._store, key, iter(chunks())))

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

    def _patiently(self, key: str, call: Callable[[], T]) -> T:
        """Return the result of a call; if the store asks for fewer requests, wait longer each time, and say so."""
        wait_s, began = FIRST_WAIT_S, time.monotonic()
        place = f"{self._scheme}://{self._bucket}"
        while True:
            try:
                result = call()
            except Exception as error:
                known = failure(error, self._scheme, self._bucket, self._path(key))
                if not isinstance(known, Throttled):
                    notices.clear(place)
                    raise known from None
                if time.monotonic() - began + wait_s > PATIENCE_S:
                    raise known from None
            else:
                notices.clear(place)
                return result
            notices.say(place, f"{place} asks for fewer requests: waiting {wait_s:.1f} s")
            time.sleep(wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads requests, keeps no secret
            wait_s = min(MOST_WAIT_S, 2 * wait_s)


def _version_of(meta: Any) -> ObjectVersion:
    return cast("ObjectVersion", {name: meta[name] for name in ("e_tag", "version") if meta.get(name)})


def _state_of(meta: Any) -> ObjectState:
    modified = meta["last_modified"]
    return ObjectState(meta["size"], int(modified.timestamp()) * 10**9 + modified.microsecond * 1000, _tag_of(meta))


def _tag_of(meta: Any) -> str:
    """The tag of an object in quotes, which listings of Azure and Google leave out."""
    tag = str(meta.get("e_tag") or meta.get("version") or "")
    return f'"{tag}"' if tag and not tag.endswith('"') else tag


def _store(scheme: str, bucket: str) -> Any:
    """Open a bucket as its provider's tools do: credentials come from the environment, a login or the machine."""
    from obstore import store

    endpoint = os.environ.get(ENDPOINT, "")
    if endpoint and not endpoint.startswith(("http://", "https://")):
        raise OSError(errno.EINVAL, f"--endpoint is a URL. Next: write https://{endpoint}, or http://{endpoint}")
    anonymous = bool(os.environ.get(ANONYMOUS))
    plain = endpoint or (os.environ.get("AZURE_ENDPOINT", "") if scheme == "az" else "")
    common: dict[str, Any] = {
        "client_options": {
            "allow_http": scheme == "http" or plain.startswith("http://"),
            "connect_timeout": "5s",
            "timeout": "120s",
        },
        "retry_config": {
            "max_retries": RETRIES,
            "retry_timeout": dt.timedelta(seconds=30),
            "backoff": {
                "init_backoff": dt.timedelta(milliseconds=100),
                "max_backoff": dt.timedelta(seconds=2),
                "base": 2,
            },
        },
    }
    config: Any = {"skip_signature": True} if anonymous else {}
    if scheme == "s3":
        from rolloupe.storage.remote import aws

        endpoint = endpoint or aws.endpoint()
        common["client_options"]["allow_http"] = endpoint.startswith("http://")
        config |= {"endpoint": endpoint} if endpoint else {}
        config = aws.config(config, anonymous=anonymous)
        return store.S3Store(bucket, config=config, **aws.provider(anonymous=anonymous), **common)
    if scheme == "gs":
        config |= {"base_url": endpoint} if endpoint else {}
        return store.GCSStore(bucket, config=config, **common)
    if scheme == "az":
        config |= {"endpoint": endpoint} if endpoint else {}
        return store.AzureStore(bucket, config=config, **common)
    return store.HTTPStore.from_url(f"{scheme}://{bucket}", **common)


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
