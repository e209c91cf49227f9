"""The shared index of a run in an object store: objects that never change, and one manifest that says what they are.

An object is named by the contents of its file and a word of its own, so no two writers have one name, and a name that
left the manifest never comes back. The manifest is replaced by compare-and-swap: of several publishers one wins, and
the others add their files to what that one wrote. Whoever wins deletes what left the manifest a while ago.
"""

import errno
import hashlib
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from rolloupe.storage import atomic
from rolloupe.storage.address import parts_of
from rolloupe.storage.remote.connection import ObjectVersion, ObstoreConnection, connection
from rolloupe.storage.remote.failures import ReplacedObject

GRACE_S = 3600.0
"""How long an object stays after it left the manifest: a viewer may still know the old one."""

ORPHAN_S = 86_400.0
"""The age at which an object that no manifest names is taken for a leftover of a process that was killed."""

MANIFEST_BYTES = 256 * 2**20
"""A larger manifest is nobody's index: one of 20,000 segments has 60 MB."""

FILE_BYTES = 2**30
"""The same for a file: a part of a source has 16 MiB, or is a file as a whole."""

TRIES = 1000
"""How often to publish again when others were first."""

INLINE = ".meta"
"""The ending of the small files that lie in the manifest itself."""

_OBJECTS = "objects"
_OBJECT = re.compile(r"[0-9a-f]{40}-[0-9a-f]{8}")


class SharedFile(msgspec.Struct, frozen=True, array_like=True):
    """A file of the index: the name of its object, or its contents."""

    object: str
    mtime_ns: int
    size: int = 0
    data: bytes = b""

    def is_same(self, other: "SharedFile | None") -> bool:
        """Tell whether both have the same contents."""
        return other is not None and (_digest_in(self.object), self.data) == (_digest_in(other.object), other.data)

    def holds(self, data: bytes) -> bool:
        """Tell whether these are its contents."""
        return self.data == data if not self.object else _digest_in(self.object) == _digest(data)


class SharedManifest(msgspec.Struct, frozen=True):
    """The files by their names, and when other objects left the manifest."""

    files: dict[str, SharedFile] = {}
    removed: dict[str, float] = {}
    swept_s: float = 0.0
    """When somebody last looked for leftovers."""


class SharedRun:
    """The shared index of one run. All methods raise OSError."""

    def __init__(self, place: str) -> None:
        scheme, bucket, self._key = parts_of(place)
        self.place = place
        opened = connection(scheme, bucket)
        assert isinstance(opened, ObstoreConnection)
        self._bucket = opened
        self.known = SharedManifest()
        """The manifest as it was last read or written."""
        self._version: ObjectVersion | None = None
        self.is_damaged = False
        """True if the manifest could not be understood."""

    def manifest(self) -> SharedManifest:
        """Read the newest manifest."""
        try:
            found = self._bucket.get(f"{self._key}/manifest", MANIFEST_BYTES, self._version)
        except FileNotFoundError:
            self.known, self._version, self.is_damaged = SharedManifest(), None, False
            return self.known
        if found is not None:
            data, self._version = found
            self.is_damaged = False
            try:
                self.known = msgspec.msgpack.decode(data, type=SharedManifest)
            except (msgspec.MsgspecError, ValueError, RecursionError):  # the next publisher replaces it
                self.known, self.is_damaged = SharedManifest(), True
        return self.known

    def put(self, path: Path) -> SharedFile:
        """Put the contents of a file; others see them once they are published."""
        mtime_ns, data = path.stat().st_mtime_ns, path.read_bytes()
        if path.name.endswith(INLINE):
            return SharedFile("", mtime_ns, len(data), data)
        name = f"{_digest(data)}-{secrets.token_hex(4)}"
        self._bucket.write(self._object(name), lambda: [data])
        return SharedFile(name, mtime_ns, len(data))

    def fetch(self, file: SharedFile, path: Path) -> bool:
        """Write the contents of a file to a path; False for an object that is gone or damaged."""
        if not file.object:
            atomic.write(path, file.data)
            return True
        if not (_OBJECT.fullmatch(file.object) and 0 <= file.size <= FILE_BYTES):
            return False
        try:
            with atomic.replacing(path) as target:
                target.writelines(self._chunks(file))
        except (FileNotFoundError, ReplacedObject):
            return False
        return True

    def _chunks(self, file: SharedFile) -> Iterator[bytes]:
        """Yield the contents of an object. Raises `ReplacedObject` where they are others."""
        digest = _new_digest()
        for chunk in self._bucket.stream(self._object(file.object), file.size):
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != _digest_in(file.object):
            raise ReplacedObject(file.object)

    def publish(self, files: Mapping[str, SharedFile], outdated: Collection[str]) -> None:
        """Add files to the manifest in place of those of the same names, and leave out others."""
        for _ in range(TRIES):
            before, now_s = self.manifest(), time.time()
            new = {name: file for name, file in files.items() if not file.is_same(before.files.get(name))}
            after_files = {name: file for name, file in before.files.items() if name not in outdated} | new
            left = {one.object for one in before.files.values()} - {one.object for one in after_files.values()}
            due = [name for name, left_s in before.removed.items() if now_s - left_s > GRACE_S]
            removed = {name: left_s for name, left_s in before.removed.items() if name not in due}
            sweeps = not abs(now_s - before.swept_s) <= ORPHAN_S  # also of a clock that was wrong
            after = SharedManifest(
                after_files,
                removed | dict.fromkeys(left - {""}, now_s),
                now_s if sweeps else before.swept_s,
            )
            if after_files == before.files and not due and not sweeps:
                break
            version = self._bucket.swap(f"{self._key}/manifest", msgspec.msgpack.encode(after), self._version)
            if version is not None:
                self.known, self._version = after, version
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
        """Delete leftovers, by the clock of the store alone: that of this machine may be wrong."""
        known = {file.object for file in manifest.files.values()} | manifest.removed.keys()
        found = self._bucket.below(f"{self._key}/{_OBJECTS}")
        newest_s = max((one.mtime_ns for one in found.values()), default=0) / 1e9
        left = [name for name, one in found.items() if newest_s - one.mtime_ns / 1e9 > ORPHAN_S]
        self._bucket.delete([self._object(name) for name in left if name not in known])

    def _delete(self, names: Collection[str]) -> None:
        self._bucket.delete([self._object(name) for name in names if _OBJECT.fullmatch(name)])

    def _object(self, name: str) -> str:
        return f"{self._key}/{_OBJECTS}/{name}"


def _new_digest(data: bytes = b"") -> "hashlib.blake2b":
    return hashlib.blake2b(data, digest_size=20)


def _digest(data: bytes) -> str:
    return _new_digest(data).hexdigest()


def _digest_in(name: str) -> str:
    return name.partition("-")[0]
