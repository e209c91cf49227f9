"""The index of a person who may read a shared one, but not write to it.

It lies in the person's own cache directory and begins as links to the files of the shared index. What is missing there
is written beside the links, so all else works as with any index, and the shared one stays as it is.
"""

import contextlib
import hashlib
import os
from pathlib import Path

SHARED = "shared"
"""The link from the private indexes of runs to the folder with the shared ones."""


def is_writable(folder: Path) -> bool:
    """Tell whether an index may be written to a folder that exists, or in the folders above one that does not."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():  # whoever writes will say so
        return True
    places = [existing, *(path for path in existing.glob("*") if path.is_dir())] if existing == folder else [existing]
    return all(os.access(path, os.W_OK | os.X_OK) for path in places)


def private_index(shared: Path, index_dir: Path) -> Path:
    """Make the private index of the run whose shared index lies at `shared`. Returns its folder within `index_dir`."""
    digest = hashlib.blake2b(os.fsencode(shared.parent), digest_size=6).hexdigest()
    all_runs = index_dir / f"{shared.parent.name}-{digest}"
    with contextlib.suppress(OSError):  # whatever has no link is indexed again
        all_runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):
            (all_runs / SHARED).symlink_to(shared.parent.absolute())
        _link(shared, all_runs / shared.name)
    return all_runs / shared.name


def shared_by(all_runs: Path) -> Path | None:
    """The shared folder that the links of a private one lead to; None for a folder that is not private."""
    if "-" not in all_runs.name:
        return None
    with contextlib.suppress(OSError):
        return (all_runs / SHARED).readlink().resolve()
    return None


def _link(shared: Path, folder: Path) -> None:
    for below in (path for path in shared.iterdir() if path.is_dir()):
        with os.scandir(below) as entries:  # a pipe would block whoever opens it
            files = {entry.name: entry.path for entry in entries if entry.is_file() and not entry.name.startswith(".")}
        own = folder / below.name
        own.mkdir(parents=True, exist_ok=True, mode=0o700)
        here = {path.name for path in own.iterdir()}
        for name in here - files.keys():
            if (own / name).is_symlink():  # its file is gone
                (own / name).unlink(missing_ok=True)
        for name in files.keys() - here:
            with contextlib.suppress(FileExistsError):  # another viewer was quicker
                (own / name).symlink_to(files[name])
