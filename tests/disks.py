"""Small real disks, to be filled, and folders that are read-only: in a mount namespace that ends with the process."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

MOUNT = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"'

READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


def read_only(folder: Path, command: Sequence[str]) -> list[str]:
    """The command line of a process that cannot write to a folder, even as root. Skips the test as `on_small_disk`."""
    return [*_required(), "sh", "-c", READ_ONLY, "sh", str(folder), *command]


def on_small_disk(size_bytes: int, folder: Path, command: Sequence[str]) -> list[str]:
    """The command line of a process for which a disk of this size lies at `folder`; nobody else sees it.

    Skips the test where nothing can be mounted.
    """
    way = _required()
    folder.mkdir(parents=True, exist_ok=True)
    return [*way, "sh", "-c", MOUNT, "sh", str(size_bytes), str(folder), *command]


def seen_by(pid: int, folder: Path) -> Path:
    """A folder as the process sees it, its disk included."""
    return Path(f"/proc/{pid}/root{folder}")


def fill(folder: Path) -> Path:
    """Fill the disk at a folder to its last byte. Returns the file to remove."""
    path = folder / "everything"
    with path.open("wb", buffering=0) as file:
        for size in (2**16, 2**12, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue
    return path


def _required() -> tuple[str, ...]:
    if not (way := _way()):
        pytest.skip("nothing can be mounted here: neither as root nor in a user namespace")
    return way


@cache
def _way() -> tuple[str, ...]:
    if shutil.which("unshare") is None:
        return ()
    ways = (("unshare", "--mount"), ("unshare", "--user", "--map-root-user", "--mount"))
    probe = ("sh", "-c", f"mount -t tmpfs tmpfs {os.path.realpath('/tmp')}")
    done = (way for way in ways if subprocess.run([*way, *probe], capture_output=True, check=False).returncode == 0)
    return next(done, ())
