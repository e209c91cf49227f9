"""An index that many people share in an object store, and the copy of it on this disk."""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from rolloupe.index.run_scheduler import CLOCK, Clock
from rolloupe.index.segments.kinds import BUDGETED, Budget
from rolloupe.index.snapshot import Segment, age_of
from rolloupe.storage import address, address_of, atomic
from rolloupe.storage.remote.connection import ObjectVersion, ObstoreConnection, connection
from rolloupe.storage.remote.failures import ReplacedObject

GRACE_S = 3600.0
"""The time for which an object stays after it left the manifest: a viewer may still use the old manifest."""

ORPHAN_S = 86_400.0
"""The age at which an object outside the manifest counts as a leftover of a killed process."""

MANIFEST_BYTES = 256 * 2**20
"""A larger file is not a manifest: the manifest of 20,000 segments has 60 MB."""

FILE_BYTES = 2**30
"""A larger file is not part of an index: a part of a source has 16 MiB, or is a whole file."""

TRIES = 1000
"""How many times to try to publish while others publish first."""

INLINE = ".meta"
"""The ending of the small files that lie in the manifest itself."""

_OBJECT = re.compile(r"[0-9a-f]{40}-[0-9a-f]{8}")


class SharedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of the index: the name of its object, or its contents."""

    object: str
    mtime_ns: int
    size: int = 0
    data: bytes = b""

    @property
    def contents(self) -> str | bytes:
        """The digest of the contents, or the contents of a small file."""
        return self.object.partition("-")[0] or self.data


class SharedManifest(msgspec.Struct, frozen=True):
    """The files by their names, and the times at which objects left the manifest."""

    files: dict[str, SharedFile] = {}
    removed: dict[str, float] = {}
    swept_s: float = 0.0
    """The time of the last search for leftovers."""


class SharedRun:
    """The shared index of one run. All methods raise OSError."""

    def __init__(self, place: str) -> None:
        scheme, bucket, self.key = address.parts_of(place)
        self.place = place
        opened = connection(scheme, bucket)
        assert isinstance(opened, ObstoreConnection)
        self._bucket = opened
        self.known = SharedManifest()
        """The manifest as it was last read or written."""
        self.version: ObjectVersion | None = None
        self.is_damaged = False
        """True if the manifest could not be understood."""

    def manifest(self) -> SharedManifest:
        """Read the newest manifest."""
        try:
            answer = self._bucket.get(f"{self.key}/manifest", MANIFEST_BYTES, self.version)
        except FileNotFoundError:
            self.known, self.version, self.is_damaged = SharedManifest(), None, False
            return self.known
        if answer is not None:
            data, self.version = answer
            self.is_damaged = False
            try:
                self.known = msgspec.msgpack.decode(data, type=SharedManifest)
            except (msgspec.MsgspecError, ValueError, RecursionError):  # the next publisher replaces it
                self.known, self.is_damaged = SharedManifest(), True
        return self.known

    def put(self, path: Path) -> SharedFile:
        """Put the contents of a file; others see it once it is published."""
        mtime_ns, data = path.stat().st_mtime_ns, path.read_bytes()
        if path.name.endswith(INLINE):
            return SharedFile("", mtime_ns, len(data), data)
        name = f"{_digest(data).hexdigest()}-{secrets.token_hex(4)}"
        self._bucket.write(self.object_key(name), lambda: [data])
        return SharedFile(name, mtime_ns, len(data))

    def fetch(self, file: SharedFile, path: Path) -> bool:
        """Write the contents of a file to a path; False for an object that is gone or damaged."""
        if not file.object:
            atomic.write(path, file.data)
            return True
        if not (_OBJECT.fullmatch(file.object) and 0 <= file.size <= FILE_BYTES):
            return False
        digest = _digest(b"")
        with contextlib.suppress(FileNotFoundError, ReplacedObject), atomic.replacing(path) as target:
            for chunk in self._bucket.stream(self.object_key(file.object), file.size):
                digest.update(chunk)
                target.write(chunk)
            if digest.hexdigest() != file.contents:
                raise ReplacedObject(file.object)
            return True
        return False

    def publish(self, files: Mapping[str, SharedFile], outdated: Collection[str]) -> None:
        """Add files to the manifest, or replace those of the same names, and take out outdated ones."""
        for _ in range(TRIES):
            before, now_s = self.manifest(), time.time()
            known = {name: file.contents for name, file in before.files.items()}
            new = {name: file for name, file in files.items() if file.contents != known.get(name)}
            after_files = {name: file for name, file in before.files.items() if name not in outdated} | new
            left = {file.object for file in before.files.values()} - {file.object for file in after_files.values()}
            due = [name for name, left_s in before.removed.items() if now_s - left_s > GRACE_S]
            removed = {name: left_s for name, left_s in before.removed.items() if name not in due}
            sweeps = not abs(now_s - before.swept_s) <= ORPHAN_S  # true as well if a wrong clock set the last time
            removed |= dict.fromkeys(left - {""}, now_s)
            after = SharedManifest(after_files, removed, now_s if sweeps else before.swept_s)
            if after_files == before.files and not due and not sweeps:
                break
            version = self._bucket.swap(f"{self.key}/manifest", msgspec.msgpack.encode(after), self.version)
            if version is not None:
                self.known, self.version = after, version
                self.is_damaged = False
                self._delete(due)
                if sweeps:
                    self._sweep(after)
                break
        else:
            raise OSError(errno.EAGAIN, f"others were first {TRIES:,} times")
        named = {file.object for file in self.known.files.values()}
        self._delete([file.object for file in files.values() if file.object and file.object not in named])

    def _sweep(self, manifest: SharedManifest) -> None:
        """Delete leftovers by the clock of the store: that of this machine may be wrong."""
        known = {file.object for file in manifest.files.values()} | manifest.removed.keys()
        times_s = {name: state.mtime_ns / 1e9 for name, state in self._bucket.below(self.object_key("")).items()}
        newest_s = max(times_s.values(), default=0.0)
        left = [name for name, time_s in times_s.items() if newest_s - time_s > ORPHAN_S and name not in known]
        self._bucket.delete([self.object_key(name) for name in left])

    def _delete(self, names: Collection[str]) -> None:
        self._bucket.delete([self.object_key(name) for name in names if _OBJECT.fullmatch(name)])

    def object_key(self, name: str) -> str:
        """The key of an object in its bucket."""
        return f"{self.key}/objects/{name}".rstrip("/")


def _digest(data: bytes) -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=20)


AT_ONCE = 16
"""The number of objects that are fetched or sent at once."""

BATCH = 32
"""After this many files the manifest is published, and new samples may come first."""

REST_S = 10.0
REST_SHARE = 50
"""The shortest interval between two comparisons of store and disk; after a comparison that took t, at least
`REST_SHARE` times t.
"""

RETRY_S = 30.0
"""The time until a store that failed is asked again."""

REFUSED_S = 600.0
"""The time until a store that refused to be written to is asked again."""

_SAFE = re.compile(r"[0-9a-f]{2}/[\w-][\w.-]{0,200}\w", re.ASCII)

T = TypeVar("T")


class Mirror:
    """The copy of one shared index. Only the thread of one `OpenRun` uses it."""

    def __init__(self, folder: Path, shared: SharedRun, budget: Budget, clock: Clock = CLOCK) -> None:
        self._clock = clock
        self._folder, self.shared, self._budget = folder, shared, budget
        self.trouble = ""
        """Why the store cannot be used at this moment; empty if all is well."""
        self._may_write = True
        self.fetch_s = self._send_s = float("-inf")
        """When to look next."""
        self.lost: dict[str, SharedFile] = {}
        """The files whose objects are gone or damaged."""
        self._same: dict[str, tuple[int, int]] = {}
        """The states of the local files that the store has."""

    def fetch_numbers(self, unwanted: Collection[str]) -> None:
        """Fetch the files that the catalog reads, except those of unwanted segments."""
        with self._noting():
            names = [name for name in self._lacking() if _is_first(name) and _stem(name) not in unwanted]
            manifest = self.shared.manifest()
            for batch in _batches(names):
                self._fetch(manifest, batch)

    def fetch_rest(self, segments: Collection[Segment], go_on: Callable[[], bool]) -> None:
        """Fetch the files of the later kinds, newest step first, while there is room and `go_on` returns True."""
        began = self._clock.now_s()
        if began < self.fetch_s:
            return
        with self._noting():
            manifest = self.shared.manifest()
            by_stem = {segment.path.stem: segment for segment in segments}
            wanted = [name for name in self._lacking() if not _is_first(name) and _stem(name) in by_stem]
            wanted.sort(key=lambda name: age_of(by_stem[_stem(name)]), reverse=True)
            small = (name for name in wanted if not name.endswith(BUDGETED))
            large = (name for name in wanted if name.endswith(BUDGETED))
            roomy = itertools.takewhile(lambda name: self._has_room(name, manifest, by_stem), large)
            for batch in itertools.chain(_batches(small), _batches(roomy)):
                self._fetch(manifest, batch)
                if not go_on():
                    return
        self.fetch_s = self._next_s(began)

    def send(self, discarded: Collection[str], go_on: Callable[[], bool], *, now: bool) -> None:
        """Send new files, and take discarded segments out of the manifest: at intervals, or `now`."""
        began = self._clock.now_s()
        if began < self._send_s and not now:
            return
        with self._noting():
            try:
                if self._send_new(discarded, go_on):
                    self._may_write, self._send_s = True, self._next_s(began)
            except PermissionError:
                self._may_write, self._send_s = False, began + REFUSED_S

    @property
    def unsent(self) -> str:
        """Why others lack the files that were written here; empty if they have them."""
        place = address_of(self.shared.place)
        return self.trouble if self._may_write else f"these credentials may not write to {place}"

    def _send_new(self, discarded: Collection[str], go_on: Callable[[], bool]) -> bool:
        outdated = {
            name
            for name, file in self.shared.manifest().files.items()
            if _stem(name) in discarded or not _is_safe(name) or self.lost.get(name) == file
        }
        self.shared.publish({}, outdated)
        self.lost.clear()
        whole = True
        for batch in _batches(filter(self._is_new, self._local())):  # asked late: others may send the same files
            put = self._at_once(lambda name: self.shared.put(self._folder / name), batch)
            self.shared.publish({name: file for name, file in zip(batch, put, strict=True) if file}, ())
            for name in batch:
                self._same[name] = self._state(name)
            whole = go_on()
            if not whole:
                break
        return whole

    def _is_new(self, name: str) -> bool:
        """Tell whether the store lacks a file, or has an older one."""
        state, known = self._state(name), self.shared.known.files.get(name)
        if known is None:
            return state != (0, 0)
        if self._same.get(name) == state or state[0] <= known.mtime_ns:
            return False
        with contextlib.suppress(OSError):
            data = (self._folder / name).read_bytes()
            if known.contents != (_digest(data).hexdigest() if known.object else data):
                return True
        self._same[name] = state
        return False

    def _fetch(self, manifest: SharedManifest, names: list[str]) -> None:
        def fetch(name: str) -> None:
            file, path = manifest.files[name], self._folder / name
            if self.shared.fetch(file, path):
                self.lost.pop(name, None)
                os.utime(path, ns=(file.mtime_ns, file.mtime_ns))
            else:
                self.lost[name] = file

        self._budget.count(sum(manifest.files[name].size for name in names if not name.endswith(BUDGETED)))
        self._at_once(fetch, names)

    def _at_once(self, work: Callable[[str], T], names: list[str]) -> list[T | None]:
        """Do some work for many files at once; None for a file that was removed meanwhile."""

        def done(name: str) -> T | None:
            try:
                return work(name)
            except FileNotFoundError:
                return None

        with ThreadPoolExecutor(AT_ONCE) as threads:
            return [*threads.map(done, names)]

    def _has_room(self, name: str, manifest: SharedManifest, by_stem: dict[str, Segment]) -> bool:
        def texts() -> Iterator[tuple[int, Path]]:
            for here in self._local():
                if here.endswith(BUDGETED) and _stem(here) in by_stem:
                    yield age_of(by_stem[_stem(here)]), self._folder / here

        has_room = self._budget.has_room(self._folder, texts, age_of(by_stem[_stem(name)]))
        if has_room:
            self._budget.count(manifest.files[name].size)
        return has_room

    def _lacking(self) -> list[str]:
        """The files of the store that are not here, without names that lead out of the folder."""
        here = set(self._local())
        return [name for name in self.shared.manifest().files if name not in here and _is_safe(name)]

    def _local(self) -> list[str]:
        """The files of the segments, by their paths in the folder."""
        names = []
        for below in self._folder.glob("[0-9a-f][0-9a-f]"):
            with contextlib.suppress(OSError), os.scandir(below) as entries:
                names += [f"{below.name}/{entry.name}" for entry in entries if not entry.name.startswith(".")]
        return sorted(names)

    def _state(self, name: str) -> tuple[int, int]:
        with contextlib.suppress(OSError):
            state = (self._folder / name).stat()
            return state.st_mtime_ns, state.st_size
        return 0, 0

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Note a failure of the store, and try again after a while."""
        began = self._clock.now_s()
        place = address_of(self.shared.place)
        try:
            yield
            files, self.trouble = self.shared.known.files, ""
            if self.shared.is_damaged:
                self.trouble = f"the manifest of the shared index at {place} is damaged"
            elif damaged := sum(not _is_safe(name) or self.lost.get(name) == file for name, file in files.items()):
                self.trouble = f"{damaged} files of the shared index at {place} are damaged or gone"
        except OSError as error:
            self.trouble = f"the shared index at {place} cannot be used now: {error.strerror or error}"
            self.fetch_s = self._send_s = max(began + RETRY_S, self._next_s(began))

    def _next_s(self, began_s: float) -> float:
        now_s = self._clock.now_s()
        return now_s + max(REST_S, REST_SHARE * (now_s - began_s))


def _is_first(name: str) -> bool:
    """Tell whether the catalog reads a file: a `.meta`, or the numbers."""
    return name.count(".") == 1 and name.endswith((".meta", ".parquet"))


def _stem(name: str) -> str:
    return name.rpartition("/")[2].partition(".")[0]


def _is_safe(name: str) -> bool:
    """Tell whether a name is that of a file of an index, which leads nowhere else on any system."""
    return _SAFE.fullmatch(name) is not None


def _batches(names: Iterable[str]) -> Iterator[list[str]]:
    left = iter(names)
    while batch := [*itertools.islice(left, BATCH)]:
        yield batch
