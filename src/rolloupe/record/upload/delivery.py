"""Sends the files of a run to a folder or an object store, in an order that never exposes a partial step to a reader.

A file that grows is sent again as a whole. Samples name parts of token series, so parts go first, then only those
samples that existed before the parts were listed. The note that the run has ended goes last.

The sending process is `python -m rolloupe.record.upload.delivery FOLDER TARGET`. It prints a line of JSON whenever the
waiting files change. Once its standard input says `end` or ends, it sends the rest and ends. For each folder, one
process sends at a time, on disks with locks.
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
"""A file in the folder of a run and in its target, with the same contents."""
MARK_CHARS = 64


class FileVersion(NamedTuple):
    """The size of a file, and the time when it was last written."""

    size: int
    mtime_ns: int


class FolderTarget:
    """A folder, for example on a network disk, that takes whole files. Its methods raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self) -> dict[str, int]:
        """Return the sizes of the files there, by name."""
        return {name: version.size for name, version in files_in(self._folder).items()}

    def mark(self) -> str:
        """Return the mark of the run there; empty without a run."""
        try:
            with (self._folder / MARK).open("rb") as file:
                return file.read(MARK_CHARS).decode("ascii", "replace")
        except FileNotFoundError:
            return ""

    def put(self, name: str, path: Path, size: int) -> None:
        """Replace a file there by the first bytes of a local file."""
        with atomic.replacing(self._folder / name) as file:
            for chunk in chunks(path, size):
                file.write(chunk)


class StoreTarget:
    """A place in an object store, with the methods of a folder."""

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
    """Open a target for the files of a folder. Raises `OSError` for the folder itself, and for folders in it."""
    place = place_of(address)
    if is_remote(place):
        return StoreTarget(str(place))
    folder = Path(address).expanduser().resolve()
    if folder.is_relative_to(source.resolve()):
        raise OSError(errno.EINVAL, "a run is not uploaded into its own folder", address)
    return FolderTarget(folder)


def chunks(path: Path, size: int) -> Iterator[bytes]:
    """Read the first bytes of a file. Raises `OSError`, also if the file has become shorter."""
    left = size
    with path.open("rb") as file:
        while left:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                raise OSError(errno.EIO, "the file became shorter while it was sent", str(path))
            left -= len(chunk)
            yield chunk


def files_in(folder: Path) -> dict[str, FileVersion]:
    """Return the regular files below a folder, without hidden ones, by their path from there."""
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
        """The state of each local file as it was sent; None until the files of the target are known."""

    def waiting(self) -> dict[str, FileVersion]:
        """Return the files that changed since they were sent, in the order to send. Raises `OSError`."""
        files = {name: state for name, state in files_in(self._folder).items() if _top(name) != TOKENS}
        local = files | {f"{TOKENS}/{name}": state for name, state in files_in(self._folder / TOKENS).items()}
        if self._sent is None:
            known = self._target.known()
            # most files only grow; the few that are replaced are sent at every start
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
        with suppress(OSError):  # on a full disk, files are sent without a mark
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
        """Send files, and call `tell` after each with the files that still wait. Raises `OSError`."""
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
"""The rest after a delivery, as a multiple of its duration: files that grow are sent again as a whole."""
MOST_REST_S = 300.0
RETRY_S = (2.0, 60.0)
"""The rest after the first failure, which doubles with each, and the longest rest."""
PATIENCE_S = 600.0
"""How long to retry after the end of the recorder."""
LOCK = ".upload.lock"


def main(place: str, address: str) -> int:
    """Send until the recorder ends; return 1 if some files could not be sent."""
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
        is_last, rest_s, began = end.is_set(), REST_S, time.monotonic()
        has_lock = has_lock or is_last or _lock(folder / LOCK)
        try:
            if has_lock:
                delivery = delivery or Delivery(folder, target_of(address, folder))
                waiting = delivery.waiting()
                tell(waiting)
                delivery.send(waiting, tell)
                failures = 0
                rest_s = min(MOST_REST_S, max(REST_S, REST_SHARE * (time.monotonic() - began)))
            if is_last:  # the recorder had written everything before it said so
                return 0
        except OSError as error:
            failures += 1
            tell(None, _reason(error))
            rest_s = min(RETRY_S[1], RETRY_S[0] * 2.0 ** min(failures, 10))
        if not is_last:
            end.wait(rest_s)
            continue
        stop_s = min(stop_s, began + PATIENCE_S)
        if time.monotonic() > stop_s:
            return 1
        time.sleep(rest_s)


def _reason(error: OSError) -> str:
    reason, path = error.strerror or str(error) or type(error).__name__, error.filename
    # names only the folder: each file that cannot be written has a different name
    return f"{reason}: {os.path.dirname(path)}" if isinstance(path, str) and not is_remote(path) else reason


def tell(waiting: dict[str, FileVersion] | None, reason: str = "") -> None:
    """Tell the recorder which files wait, if known, and why nothing was sent."""
    known = {} if waiting is None else {"files": len(waiting), "bytes": sum(file.size for file in waiting.values())}
    with suppress(OSError, ValueError):  # nobody listens any more
        print(json.dumps({**known, "reason": reason}), flush=True)


def _lock(path: Path) -> bool:
    """Take the lock for sending until the process ends; False if another process has it. True without locks."""
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
