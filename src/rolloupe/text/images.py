"""Images in records: `data:` addresses and bare base64, recognised by size and decoded within bounds.

A decoded image is a PNG, JPEG, GIF or WebP by its first bytes, whatever the record calls it, and small enough in bytes
and pixels for a browser to draw. Nothing here reads the pixels.
"""

import base64
import binascii
import re
import struct
from typing import NamedTuple

SCHEME = "data:image/"
IN_TEXT = r"data:image/[a-zA-Z0-9.+-]{1,20};base64,[A-Za-z0-9+/_=-]{64,}"
"""A regular expression for an image within a text. Shorter ones stay text, so that text about images is left alone."""

MAX_BYTES = 16 * 2**20
MAX_PIXELS = 64_000_000
"""A browser needs four bytes for each pixel."""

BARE = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}
"""How base64 of each kind of image begins."""

_MIN_BARE = 64
_MAX_SEGMENTS = 10_000
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\s-]+")


class Picture(NamedTuple):
    """An image: its media type, its bytes, its size in pixels."""

    kind: str
    data: bytes
    width: int
    height: int


class NotShown(ValueError):
    """Raised if something cannot be shown as an image; says why."""


def is_image(text: str) -> bool:
    """Return whether a text is only an image: a `data:` address, or base64 that begins like one."""
    if text.startswith(SCHEME):
        return True
    return len(text) >= _MIN_BARE and text.startswith(tuple(BARE)) and _BASE64.fullmatch(text) is not None


def label(media: str) -> str:
    """Describe an image in words: its kind and approximate size, never its data."""
    head, _, body = media.partition(",") if media.startswith("data:") else ("", "", media)
    if head:
        kind = head[5:].partition(";")[0][:60] or "image"
    else:
        kind = next((kind for start, kind in BARE.items() if media.startswith(start)), "image")
    return f"{kind}, {max(1, len(body) * 3 // 4 // 1024):,} kB"


def picture(media: str) -> Picture:
    """Decode an image. Raises `NotShown`."""
    head, comma, body = media.partition(",") if media.startswith("data:") else ("", ",", media)
    if not comma or (head and ";base64" not in head):
        raise NotShown("it is not in base64")
    if len(body) > MAX_BYTES * 4 // 3 + 4:
        raise NotShown(f"it is larger than {MAX_BYTES // 2**20} MB")
    try:
        data = base64.b64decode(body.translate(_URL_SAFE), validate=False)
    except (binascii.Error, ValueError):
        raise NotShown("its base64 is broken") from None
    kind, size = _kind(data)
    if size is None or min(size) < 1:
        raise NotShown(f"it is not a readable {kind}" if kind else "it is not a PNG, JPEG, GIF or WebP")
    if size[0] * size[1] > MAX_PIXELS:
        raise NotShown(f"it has {size[0]:,} × {size[1]:,} pixels")
    return Picture(kind, data, *size)


_URL_SAFE = str.maketrans("-_", "+/")


def _kind(data: bytes) -> tuple[str, tuple[int, int] | None]:
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return "image/png", struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return "image/gif", struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8\xff"):
            return "image/jpeg", _jpeg_size(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return "image/webp", _webp_size(data)
    except (struct.error, IndexError):
        return "image", None
    return "", None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Read height and width from the first frame header, after segments that state their length (ISO 10918-1)."""
    at = 2
    for _ in range(_MAX_SEGMENTS):
        if at + 9 >= len(data) or data[at] != 0xFF:
            return None
        mark = data[at + 1]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 1 if mark == 0xFF else 2 + max(2, struct.unpack(">H", data[at + 2 : at + 4])[0])
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """Read the size from any of the three forms of WebP (RFC 9649)."""
    form = data[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if form == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
