"""Addresses of runs in object stores, as paths: `s3://bucket/runs` lies at `/s3:/bucket/runs`.

No disk has such a path, and it joins, splits and compares like every other path: code that handles the paths of a run
need not know where it lies. Only `storage` looks at the beginning; people see the address.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from rolloupe.errors import NotWritable

SCHEMES = ("s3", "gs", "az", "https", "http", "hf")

_ROOTS = tuple(f"/{scheme}:/" for scheme in SCHEMES)
_OTHER_NAMES = {"s3a": "s3", "gcs": "gs", "azure": "az"}
_ADDRESS = re.compile(rf"(?P<scheme>{'|'.join((*SCHEMES, *_OTHER_NAMES))}):(?:/+(?P<rest>.*)|$)", re.DOTALL)
"""One slash or none matches as well: `pathlib` reduces two slashes to one, and drops them at the end."""


def is_remote(path: str | Path) -> bool:
    """Tell whether a path lies in an object store or on a web server."""
    return f"{os.fspath(path)}/".startswith(_ROOTS)


def place_of(path: str | Path) -> Path:
    """Return the path of an address; any other path as it is."""
    text = os.fspath(path)
    match = _ADDRESS.fullmatch(text)
    if match is None or os.path.lexists(text):
        return Path(path)
    scheme = _OTHER_NAMES.get(match["scheme"], match["scheme"])
    return Path(f"/{scheme}:/{(match['rest'] or '').strip('/')}")


def own_place(path: str | Path) -> Path:
    """Return a path to write to on this machine. Raises `NotWritable` for an address."""
    if is_remote(place_of(path)):
        raise NotWritable(f"{address_of(path)} is in an object store: name a file or a folder of this machine")
    return Path(path)


def address_of(path: str | Path) -> str:
    """Return a path as people write it: that of an object store as its address."""
    text = os.fspath(path)
    if not is_remote(text):
        text = os.fspath(place_of(text))
        if not is_remote(text):
            return text
    scheme, bucket, key = parts_of(text)
    if scheme in ("http", "https"):  # a login and a query are secret, and not used
        bucket, key = re.sub(".*@", "***@", bucket), re.sub(r"\?.*", "?***", key, flags=re.DOTALL)
    return f"{scheme}://{bucket}/{key}" if key else f"{scheme}://{bucket}"


def both_places(path: str | Path) -> tuple[str, str]:
    """Return an absolute path, and the path without links; the two are equal for an object."""
    place = os.fspath(place_of(path))
    return os.path.abspath(place), place if is_remote(place) else os.path.realpath(place)


def parts_of(path: str) -> tuple[str, str, str]:
    """Return the scheme of a remote path, the name of its bucket or host, and the key in it."""
    scheme, _, rest = f"{path}/"[1:].partition(":/")
    bucket, _, key = rest.partition("/")
    return scheme, bucket, key[:-1]


REMOTE_DEVICE = -2
"""The device of all objects in stores."""


class RemoteEntry(NamedTuple):
    """An entry of a folder in a store, as `os.DirEntry` has it."""

    name: str
    number: int
    folder: bool

    def is_dir(self) -> bool:
        return self.folder

    def is_file(self) -> bool:
        return not self.folder

    def is_symlink(self) -> bool:
        return False

    def inode(self) -> int:
        return self.number


class Interrupted(OSError):
    """Raised for a failure that may pass: the records read so far are incomplete."""
