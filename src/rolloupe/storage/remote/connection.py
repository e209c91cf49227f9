"""Connections to buckets: they list, look up and read objects, and wait for stores that ask for fewer requests."""

import asyncio
import datetime as dt
import errno
import functools
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias, TypedDict, TypeVar, cast

from rolloupe.storage.address import address_of
from rolloupe.storage.remote import hub, stores
from rolloupe.storage.remote.calls import Body, FolderListing, ObjectState, in_thread, patiently
from rolloupe.storage.remote.failures import EXTRA, ReplacedObject, failure, unusable

PAGE = 1000
"""The objects of a list that are read together: as many as a store sends in one answer."""
UPLOADED_AT_ONCE = 3
"""The parts of an object that are sent at once: few enough for each to end within the server's time limit."""

LATEST_S = 2**33
"""The latest time of an object, in the year 2242; later times become this one."""

_WEAK = 'W/"'
"""The characters around a tag. A proxy that compresses marks the tag as weak."""

T = TypeVar("T")


class ObjectVersion(TypedDict, total=False):
    """Identifies a version of an object. Some stores compare the tag, some the version."""

    e_tag: str
    version: str


class ObstoreConnection:
    """A bucket, a container or a host, through obstore. All methods raise OSError."""

    rest_s = 0.0
    """The least time for which a listing counts as current."""

    def __init__(self, scheme: str, bucket: str) -> None:
        self._scheme, self._bucket = scheme, bucket
        try:
            import obstore
        except ImportError:
            raise OSError(errno.ENOPKG, EXTRA, f"/{scheme}:/{bucket}") from None
        self.obstore = obstore
        try:
            self._store = stores.opened_store(scheme, bucket)
        except Exception as error:
            raise unusable(error, scheme, bucket) from None

    def list(self, key: str) -> FolderListing:
        """List the entries directly below a key; empty if no such folder exists."""
        prefix = f"{key}/" if key else ""
        try:
            listing = self._patiently(key, lambda: self.obstore.list_with_delimiter_async(self._store, key or None))
        except OSError as error:
            if self._scheme in ("http", "https") and error.errno != errno.EHOSTUNREACH:
                raise FileNotFoundError(errno.ENOENT, "does not exist", self._path(key)) from None  # few servers list
            raise
        objects = {
            meta["path"][len(prefix) :]: state_of(meta)
            for meta in listing["objects"]
            if meta["path"].startswith(prefix)
        }
        folders = frozenset(name[len(prefix) :].strip("/") for name in listing["common_prefixes"])
        return FolderListing({name: state for name, state in objects.items() if name and name not in folders}, folders)

    def state(self, key: str) -> ObjectState:
        """Return the state of one object."""
        return state_of(self._patiently(key, lambda: self.obstore.head_async(self._store, key)))

    def read(self, key: str, start: int, stop: int, state: ObjectState) -> memoryview:
        """Read a range of the object in that state. Raises `ReplacedObject` if its state has changed."""
        options: Any = {"range": (start, stop)}
        if state.tag and not state.tag.startswith("W/"):
            options["if_match"] = state.tag
        else:
            options["if_unmodified_since"] = dt.datetime.fromtimestamp(-(-state.mtime_ns // 10**9), dt.UTC)

        async def get() -> tuple[str, memoryview]:
            with Body(stop - start) as body:
                result = await self.obstore.get_async(self._store, key, options=options)
                return _tag_of(result.meta), await _body(result, body)

        tag, data = self._patiently(key, get)
        if len(data) != stop - start or (tag and state.tag and tag.strip(_WEAK) != state.tag.strip(_WEAK)):
            raise ReplacedObject(self._path(key))  # also for servers that ignore conditions
        return data

    def below(self, key: str) -> dict[str, ObjectState]:
        """List all objects below a key, however deep, by the rest of their keys."""
        prefix = f"{key}/" if key else ""

        async def call() -> dict[str, ObjectState]:
            objects = dict[str, ObjectState]()
            async for page in self.obstore.list(self._store, key or None, chunk_size=PAGE):
                objects |= {meta["path"].removeprefix(prefix): state_of(meta) for meta in page}
            return objects

        return self._patiently(key, call)

    def write(self, key: str, chunks: Callable[[], Iterable[bytes]]) -> None:
        def put() -> object:
            return self.obstore.put(self._store, key, iter(chunks()), max_concurrency=UPLOADED_AT_ONCE)

        patiently(self._scheme, self._bucket, self._path(key), lambda: in_thread(put), is_long=True)

    def get(self, key: str, most_bytes: int, known: ObjectVersion | None = None) -> tuple[bytes, ObjectVersion] | None:
        """Return an object of at most `most_bytes`, and its version; None if its version is `known`. Raises OSError."""
        options: Any = {"if_none_match": known["e_tag"]} if known and "e_tag" in known else {}

        async def call() -> tuple[bytes, ObjectVersion] | None:
            try:
                result = await self.obstore.get_async(self._store, key, options=options)
            except self.obstore.exceptions.NotModifiedError:
                return None
            if (size := result.meta["size"]) > most_bytes:
                reason = f"{address_of(self._path(key))} has {size:,} bytes, {most_bytes:,} at most are read"
                raise OSError(errno.EFBIG, f"{reason}. Next: delete it", self._path(key))
            with Body(size) as body:
                return bytes((await _body(result, body))[:size]), _version_of(result.meta)

        return self._patiently(key, call)

    def stream(self, key: str, size: int) -> Iterator[bytes]:
        """Yield the bytes of an object in pieces. Raises OSError, and `ReplacedObject` for one of another size."""
        result = self._patiently(key, lambda: self.obstore.get_async(self._store, key))
        if result.meta["size"] != size:
            raise ReplacedObject(self._path(key))
        try:
            with Body(size) as body:
                for piece in result.stream():
                    body.came += len(piece)
                    if body.came > size:
                        break
                    yield bytes(piece)
        except Exception as error:
            raise failure(error, self._scheme, self._bucket, self._path(key)) from None
        if body.came > size:
            raise ReplacedObject(self._path(key))

    def swap(self, key: str, data: bytes, before: ObjectVersion | None) -> ObjectVersion | None:
        """Replace this version of an object, or create it; None if its version has changed. Raises OSError."""
        mode: Any = before or "create"
        lost = self.obstore.exceptions.AlreadyExistsError, self.obstore.exceptions.PreconditionError

        async def call() -> ObjectVersion | None:
            try:
                result = await self.obstore.put_async(self._store, key, data, mode=mode, use_multipart=False)
            except lost:
                return None
            return _version_of(result)

        return self._patiently(key, call)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects. Raises OSError."""
        if keys:
            self._patiently(keys[0], lambda: self.obstore.delete_async(self._store, keys))

    def _path(self, key: str) -> str:
        return f"/{self._scheme}:/{self._bucket}/{key}".rstrip("/")

    def _patiently(self, key: str, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async def begun() -> T:
            return await call()  # obstore needs a running loop

        def begin() -> Future[T]:
            return asyncio.run_coroutine_threadsafe(begun(), calls_loop())

        return patiently(self._scheme, self._bucket, self._path(key), begin)


@functools.cache
def calls_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the calls that can be cancelled."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="remote calls", daemon=True).start()
    return loop


async def _body(result: Any, body: Body) -> memoryview:
    """The body of an answer, cut soon after its expected size: a server may send without end."""
    pieces = list[Any]()
    async for piece in result.stream(min_chunk_size=body.size + 1):
        pieces.append(piece)
        body.came += len(piece)
        if body.came > body.size or len(piece) <= body.size:  # too much; or less than a piece: the end
            break
    return memoryview(pieces[0] if len(pieces) == 1 else b"".join(pieces))


def _version_of(meta: Any) -> ObjectVersion:
    return cast("ObjectVersion", {name: meta[name] for name in ("e_tag", "version") if meta.get(name)})


def state_of(meta: Any) -> ObjectState:
    """The state of an object, from obstore's description."""
    modified = meta["last_modified"]
    seconds = min(max(0, int(modified.timestamp())), LATEST_S)
    return ObjectState(meta["size"], seconds * 10**9 + modified.microsecond * 1000, _tag_of(meta))


def _tag_of(meta: Any) -> str:
    """The tag of an object in quotes, which listings of Azure and Google leave out."""
    tag = str(meta.get("e_tag") or meta.get("version") or "")
    return f'"{tag}"' if tag and not tag.endswith('"') else tag


Connection: TypeAlias = ObstoreConnection | hub.HubConnection
connections: dict[tuple[str, str], Connection] = {}
_lock = threading.Lock()


def connection(scheme: str, bucket: str) -> Connection:
    """Return the connection to a bucket, opened once. Raises OSError."""
    with _lock:
        if (scheme, bucket) not in connections:
            is_hub = scheme == "hf"
            connections[scheme, bucket] = hub.HubConnection(bucket) if is_hub else ObstoreConnection(scheme, bucket)
        return connections[scheme, bucket]
