"""The token, in a file that only its owner can read, kept across restarts.

The file also holds the key that signs session cookies. `rotate` replaces both, which ends every session. If the file
cannot be written (in a read-only home), they last as long as the server.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

NAME = "token.json"
MIN_CHARS = 8
"""A shorter token could be guessed, even with limited attempts."""


class Secrets(Struct, frozen=True, kw_only=True):
    """The contents of the file."""

    token: str
    cookie_key: bytes


def default_folder() -> Path:
    """Return the user's folder for application data."""
    return Path(platformdirs.user_state_dir("rolloupe", appauthor=False))


def secrets_of(folder: Path | None = None, *, rotate: bool = False) -> Secrets:
    """Read the secrets. Draw new secrets to rotate them, if they are missing, or if others could have read them."""
    place = (folder or default_folder()) / NAME
    existing = None if rotate else _read(place)
    return existing or _draw(place, rotate=rotate)


def _read(place: Path) -> Secrets | None:
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        is_private = os.name == "nt" or (not status.st_mode & 0o077 and status.st_uid == os.geteuid())
        if not stat.S_ISREG(status.st_mode) or not is_private:
            return None
        try:
            return msgspec.json.decode(file.read(4096), type=Secrets)
        except msgspec.MsgspecError:
            return None


def _draw(place: Path, *, rotate: bool) -> Secrets:
    """Draw secrets and write them, or use those that another server has written meanwhile."""
    drawn = Secrets(token=secrets.token_urlsafe(32), cookie_key=secrets.token_bytes(32))
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = place.with_name(f".{NAME}.{os.getpid()}-{secrets.token_hex(4)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "wb") as file:
            file.write(msgspec.json.encode(drawn))
        try:
            if not rotate:
                with contextlib.suppress(FileExistsError):  # only one of several servers that start at once makes it
                    os.link(temporary, place)
                    return drawn
            existing = None if rotate else _read(place)
            if existing is None:
                os.replace(temporary, place)
            return existing or drawn
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
    except OSError:
        return drawn
