"""Sends the files of a run to a folder or an object store, in an order that never exposes a partial step to a reader.

A file that grows is sent again as a whole. Samples name parts of token series, so parts go first, and of the samples
only what was there before the parts were listed. The note that the run has ended goes last.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from rolloupe.record.folder import ATTEMPTS, CHECKPOINTS, ENDED
from rolloupe.storage import atomic, is_remote, place_of
from rolloupe.storage.address import parts_of

CHUNK_BYTES = 8 * 2**20
MARK = ".upload.id"
"""A file in the folder of a run, and where it is sent: both have the same contents."""
MARK_CHARS = 64


class FileVersion(NamedTuple):
    """How large a file is, and when it was last written."""

    size: int
    mtime_ns: int


class Target(Protocol):
    """A place that takes whole files. Its methods raise `OSError`."""

    def known(self) -> dict[str, int]:
        """The sizes of the files that lie there, by name."""

    def mark(self) -> str:
        """The mark of the run that lies there; empty without one."""

    def put(self, name: str, path: Path, size: int) -> None:
        """Put the first bytes of a local file there, in place of what had its name."""


def target_of(address: str, source: Path) -> Target:
    """Open a target for the files of a folder. Raises `OSError` for the folder itself, and what lies in it."""
    place = place_of(address)
    if is_remote(place):
        return StoreTarget(str(place))
    folder = Path(address).expanduser().resolve()
    if folder.is_relative_to(source.resolve()):
        raise OSError(errno.EINVAL, "a run is not uploaded into its own folder", address)
    return FolderTarget(folder)


class FolderTarget:
    """A folder, as of a network disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self) -> dict[str, int]:
        return {name: one.size for name, one in files_in(self._folder).items()}

    def mark(self) -> str:
        try:
            with (self._folder / MARK).open("rb") as file:
                return file.read(MARK_CHARS).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def put(self, name: str, path: Path, size: int) -> None:
        with atomic.replacing(self._folder / name) as file:
            for chunk in chunks(path, size):
                file.write(chunk)


class StoreTarget:
    """A place in an object store."""

    def __init__(self, place: str) -> None:
        from rolloupe.storage.remote.connection import connection

        scheme, bucket, self._key = parts_of(place)
        self._connection = connection(scheme, bucket)

    def known(self) -> dict[str, int]:
        return {name: one.size for name, one in self._connection.below(self._key).items()}

    def mark(self) -> str:
        key = f"{self._key}/{MARK}".lstrip("/")
        try:
            state = self._connection.state(key)
        except FileNotFoundError:
            return ""
        return str(self._connection.read(key, 0, min(state.size, MARK_CHARS), state), "ascii", "replace")

    def put(self, name: str, path: Path, size: int) -> None:
        self._connection.write(f"{self._key}/{name}".lstrip("/"), lambda: chunks(path, size))


def chunks(path: Path, size: int) -> Iterator[bytes]:
    """Read the first bytes of a file. Raises `OSError`, also if it has fewer by now."""
    left = size
    with path.open("rb") as file:
        while left:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                raise OSError(errno.EIO, "the file became shorter while it was sent", str(path))
            left -= len(chunk)
            yield chunk


def files_in(folder: Path) -> dict[str, FileVersion]:
    """The regular files below a folder, but not hidden ones, by name: the path from there, with `/`."""
    found: dict[str, FileVersion] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode) and not name.startswith("."):
                    found[path.relative_to(folder).as_posix()] = FileVersion(state.st_size, state.st_mtime_ns)
    return found


TOKENS = "tokens"
_LATER = {TOKENS: 1, "samples": 2, "annotations": 2, "metrics": 2, "torn": 2, "losses": 2, CHECKPOINTS: 3, ENDED: 4}


class Delivery:
    """Sends the files of a run that have changed since they were sent, by this process or by an earlier one."""

    def __init__(self, folder: Path, target: Target) -> None:
        self._folder, self._target = folder, target
        self._is_marked = False
        self._sent: dict[str, FileVersion] | None = None
        """The state of each local file as it was sent; None until the target has said what lies there."""

    def waiting(self) -> dict[str, FileVersion]:
        """The files that are not sent as they are, in the order in which they go. Raises `OSError` of the target."""
        rest = files_in(self._folder)
        rest = {name: state for name, state in rest.items() if not name.startswith(f"{TOKENS}/")}
        parts = {f"{TOKENS}/{name}": state for name, state in files_in(self._folder / TOKENS).items()}
        local = rest | parts
        if self._sent is None:
            known = self._target.known()
            self._sent = {name: state for name, state in local.items() if _is_there(name, state.size, known.get(name))}
        changed = [name for name, state in local.items() if self._sent.get(name) != state]
        return {name: local[name] for name in sorted(changed, key=lambda name: (_LATER.get(_top(name), 0), name))}

    def _mark_target(self) -> None:
        """Mark the target as that of this folder. Raises `OSError` if another folder's run lies there.

        Files of two runs have the same names: one run would replace parts of the other.
        """
        path = self._folder / MARK
        own = ""
        with suppress(OSError):  # of a full disk: what is there is sent without
            with suppress(FileExistsError), path.open("x", encoding="ascii") as file:
                file.write(secrets.token_hex(8))
            own = path.read_text(encoding="ascii")
        if not own:
            return
        if self._target.mark() == "":
            self._target.put(MARK, path, len(own))
        if self._target.mark() != own:
            reason = "the run of another folder is there, and its files would be replaced. Next: name another place"
            raise OSError(errno.EEXIST, reason)

    def send(self, waiting: dict[str, FileVersion], tell: Callable[[dict[str, FileVersion]], None]) -> None:
        """Send files, and tell after each what still waits. Raises `OSError` of the target."""
        assert self._sent is not None
        if not self._is_marked:
            self._mark_target()
        self._is_marked = True
        left = dict(waiting)
        for name, state in waiting.items():
            path = self._folder / name
            if path.exists():
                self._target.put(name, path, state.size)
            self._sent[name] = state
            del left[name]
            tell(left)


def _top(name: str) -> str:
    return name.partition("/")[0]


def _is_there(name: str, size: int, sent_size: int | None) -> bool:
    """Tell whether a file was sent as it is. Most only grow; the few that are replaced go at every start."""
    return size == sent_size and (_top(name) in _LATER or name == ATTEMPTS)
