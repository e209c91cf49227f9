"""Sends the files of a run to a folder or an object store, in an order that never exposes a partial step to a reader.

A file that grows is sent again as a whole. Samples name parts of token series, so parts go first, and of the samples
only what was there before the parts were listed. The note that the run has ended goes last.

The process that sends is `python -m rolloupe.record.upload.delivery FOLDER TARGET`. It prints a line of JSON whenever
what waits has changed. Once its standard input says `end` or ends, it sends the rest, and ends. Of the processes for
one folder one sends at a time, where the disk has locks.
"""

import errno
import json
import os
import secrets
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rolloupe.record.folder import ATTEMPTS, CHECKPOINTS, ENDED
from rolloupe.record.lines import is_taken
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


class FolderTarget:
    """A folder, as of a network disk, that takes whole files. Its methods raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self) -> dict[str, int]:
        """Return the sizes of the files that lie there, by name."""
        return {name: version.size for name, version in files_in(self._folder).items()}

    def mark(self) -> str:
        """Return the mark of the run that lies there; empty without one."""
        try:
            with (self._folder / MARK).open("rb") as file:
                return file.read(MARK_CHARS).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def put(self, name: str, path: Path, size: int) -> None:
        """Put the first bytes of a local file there, in place of what had its name."""
        with atomic.replacing(self._folder / name) as file:
            for chunk in chunks(path, size):
                file.write(chunk)


class StoreTarget:
    """A place in an object store; its methods are those of a folder."""

    def __init__(self, place: str) -> None:
        from rolloupe.storage.remote.connection import connection

        scheme, bucket, self._key = parts_of(place)
        self._connection = connection(scheme, bucket)

    def known(self) -> dict[str, int]:
        return {name: state.size for name, state in self._connection.below(self._key).items()}

    def mark(self) -> str:
        key = f"{self._key}/{MARK}".lstrip("/")
        try:
            state = self._connection.state(key)
        except FileNotFoundError:
            return ""
        return str(self._connection.read(key, 0, min(state.size, MARK_CHARS), state), "ascii", "replace")

    def put(self, name: str, path: Path, size: int) -> None:
        self._connection.write(f"{self._key}/{name}".lstrip("/"), lambda: chunks(path, size))


Target = FolderTarget | StoreTarget


def target_of(address: str, source: Path) -> Target:
    """Open a target for the files of a folder. Raises `OSError` for the folder itself, and what lies in it."""
    place = place_of(address)
    if is_remote(place):
        return StoreTarget(str(place))
    folder = Path(address).expanduser().resolve()
    if folder.is_relative_to(source.resolve()):
        raise OSError(errno.EINVAL, "a run is not uploaded into its own folder", address)
    return FolderTarget(folder)


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
    """Return the regular files below a folder, but not hidden ones, by name: the path from there, with `/`."""
    files: dict[str, FileVersion] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(place, name)
            with suppress(OSError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode) and not name.startswith("."):
                    files[path.relative_to(folder).as_posix()] = FileVersion(state.st_size, state.st_mtime_ns)
    return files


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
        """Return the files that are not sent as they are, in the order in which they go. Raises `OSError`."""
        files = {name: state for name, state in files_in(self._folder).items() if _top(name) != TOKENS}
        parts = {f"{TOKENS}/{name}": state for name, state in files_in(self._folder / TOKENS).items()}
        local = files | parts
        if self._sent is None:
            known = self._target.known()
            # most files only grow; the few that are replaced go at every start
            growing = [name for name in local if _top(name) in _LATER or name == ATTEMPTS]
            self._sent = {name: local[name] for name in growing if local[name].size == known.get(name)}
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


REST_S = 5.0
REST_SHARE = 4
"""Rest so many times as long as the last delivery took: a file that grows is sent again as a whole."""
MOST_REST_S = 300.0
RETRY_S = (2.0, 60.0)
"""The rest after the first failure; it doubles with each, up to the last."""
PATIENCE_S = 600.0
"""How long to go on after the end of the recorder while nothing can be sent."""
LOCK = ".upload.lock"


def main(place: str, address: str) -> int:
    """Send until the recorder ends; returns 1 if something is not sent then."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    folder, end = Path(place), threading.Event()

    def wait_for_the_end() -> None:
        next((line for line in sys.stdin if line.strip() == "end"), "")
        end.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    has_lock = False
    delivery: Delivery | None = None
    failures, stop_s = 0, float("inf")
    while True:
        is_last, rest_s = end.is_set(), REST_S
        if is_last:
            stop_s = min(stop_s, time.monotonic() + PATIENCE_S)
        has_lock = has_lock or (not is_last and _lock(folder / LOCK))
        if is_last or has_lock:
            began = time.monotonic()
            try:
                delivery = delivery or Delivery(folder, target_of(address, folder))
                waiting = delivery.waiting()
                tell(waiting)
                delivery.send(waiting, tell)
                failures = 0
                if is_last:  # all that the recorder wrote was there when it said so
                    return 0
            except OSError as error:
                failures += 1
                reason, path = error.strerror or str(error) or type(error).__name__, error.filename
                if isinstance(path, str) and not is_remote(path):
                    # the folder alone: each file that cannot be written has another name
                    reason = f"{reason}: {os.path.dirname(path)}"
                tell(None, reason)
                rest_s = min(RETRY_S[1], RETRY_S[0] * 2.0 ** min(failures, 10))
            else:
                rest_s = min(MOST_REST_S, max(REST_S, REST_SHARE * (time.monotonic() - began)))
        if is_last and time.monotonic() > stop_s:
            return 1
        if is_last:
            time.sleep(rest_s)
        else:
            end.wait(rest_s)


def tell(waiting: dict[str, FileVersion] | None, reason: str = "") -> None:
    """Tell the recorder what waits, if it is known, and why nothing was sent."""
    known = {} if waiting is None else {"files": len(waiting), "bytes": sum(file.size for file in waiting.values())}
    with suppress(OSError, ValueError):  # nobody listens any more
        print(json.dumps({**known, "reason": reason}), flush=True)


def _lock(path: Path) -> bool:
    """Take the right to send until the process ends; False if another process has it.

    Where the system or the disk has no locks, everybody has it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return True
    if is_taken(handle):
        os.close(handle)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
