"""Where the indexes of runs lie: in the folder of a person, in a shared folder, or as copies of those in a store.

The private index of a person who may read a shared one, but not write to it, lies in the person's own cache directory
and begins as links to the files of the shared index. Missing files are written beside the links, so everything works as
with any index, and the shared index stays as it is.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import platformdirs
from msgspec.structs import replace

from rolloupe.errors import UnreadablePath
from rolloupe.formats import by_name
from rolloupe.index.segments.segment import LAYOUT
from rolloupe.model import AS_FOUND, RunInfo
from rolloupe.storage import address_of
from rolloupe.storage.address import parts_of

SHARED = "shared"
"""The link from the private indexes of runs to the folder with the shared ones."""


def is_writable(folder: Path) -> bool:
    """Tell whether an index may be written to a folder that exists, or in the folders above one that does not."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not existing.is_dir():  # the first write fails, and says so
        return True
    below = (path for path in existing.glob("*") if path.is_dir()) if existing == folder else ()
    return all(os.access(path, os.W_OK | os.X_OK) for path in (existing, *below))


def private_index(shared: Path, index_dir: Path) -> Path:
    """Make the private index of the run whose shared index lies at `shared`. Returns its folder within `index_dir`."""
    digest = hashlib.blake2b(os.fsencode(shared.parent), digest_size=6).hexdigest()
    all_runs = index_dir / f"{shared.parent.name}-{digest}"
    with suppress(OSError):  # a part without links is indexed again
        all_runs.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            (all_runs / SHARED).symlink_to(shared.parent.absolute())
        for below in (path for path in shared.iterdir() if path.is_dir()):
            with os.scandir(below) as entries:  # without pipes, which block a process that opens them
                files = {file.name: file.path for file in entries if file.is_file() and not file.name.startswith(".")}
            own = all_runs / shared.name / below.name
            own.mkdir(parents=True, exist_ok=True, mode=0o700)
            here = {path.name for path in own.iterdir()}
            for name in here - files.keys():
                if (own / name).is_symlink():  # its file is gone
                    (own / name).unlink(missing_ok=True)
            for name in files.keys() - here:
                with suppress(FileExistsError):  # another viewer was quicker
                    (own / name).symlink_to(files[name])
    return all_runs / shared.name


def shared_by(all_runs: Path) -> Path | None:
    """The shared folder that the links of a private one lead to; None for a folder that is not private."""
    if "-" not in all_runs.name:
        return None
    with suppress(OSError):
        return (all_runs / SHARED).readlink().resolve()
    return None


COPY_BYTES = 20 * 10**9
"""The default room for copies of indexes in stores."""


def default_index_dir() -> Path:
    """The default folder for indexes, in the user's cache directory."""
    return Path(platformdirs.user_cache_dir("rolloupe")) / "index"


def local_copy(address: str) -> Path:
    """The folder with the copies of the indexes that are shared in a store."""
    asked = "\n".join([address, *(os.environ.get(name, "") for name in ("ROLLOUPE_ENDPOINT", "AWS_ENDPOINT_URL"))])
    name = hashlib.blake2b(asked.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
    return default_index_dir().with_name("stores") / name


def check_store(place: str) -> None:
    """Make sure that a store can have a shared index. Raises `UnreadablePath`."""
    scheme, bucket, key = parts_of(place)
    if scheme not in ("s3", "gs", "az"):
        next_step = "Next: name a folder, or s3://, gs:// or az://, with --index-dir"
        raise UnreadablePath(f"the index cannot lie at {address_of(place)}. {next_step}")
    try:
        from rolloupe.storage.remote.connection import connection

        connection(scheme, bucket).list(key)
    except OSError as error:
        raise UnreadablePath(f"cannot share an index at {address_of(place)}: {error.strerror or error}") from None


def make_folder(folder: Path) -> None:
    """Make a folder for indexes. Raises `UnreadablePath`."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = f"{error.strerror or error}. Next: name a folder with --index-dir"
        raise UnreadablePath(f"cannot write an index to {folder}: {reason}") from None


def place_of_run(info: RunInfo) -> tuple[str, ...]:
    """The format of a run, its root, and its name within that root: no other run has the same."""
    return (info.format, info.root, info.within) if info.within else (info.format, info.root)


def folder_of(info: RunInfo, index_dir: Path) -> Path:
    """The folder for the index of a run: below `index_dir`, or a private one if that cannot be written to."""
    reading = info.reading
    asked = replace(reading, tokenizer="", download_tokenizer=False, metrics=(), metrics_by_name=False, metrics_step="")
    words = [reading.reward_key, repr(reading.fields)] if asked != AS_FOUND else []
    words += [f"group by {reading.group_by}"] if reading.group_by else []
    decoder = info.tokenizer if by_name(info.format).decodes_ids else None
    words += [f"tokenizer {decoder.digest}"] if decoder else []
    key = "\n".join([*place_of_run(info), *(f"{part.path}\t{part.split}" for part in info.parts), *words])
    name = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
    folder, own = index_dir / f"v{LAYOUT}" / name, default_index_dir()
    return folder if index_dir == own or is_writable(folder) else private_index(folder, own)
