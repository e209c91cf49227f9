"""Replies: records as JSON bytes, errors as `ErrorReply`, validation by ETag, compression.

msgspec silently writes NaN as null and refuses lone surrogates. Numbers therefore pass `wire.number` or `plain` before
they enter a record, or are marked as `NonFinite`; lone surrogates in texts are replaced.
"""

import gzip
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response

from rolloupe import text
from rolloupe.server import wire

JSON = "application/json"
BINARY = "application/octet-stream"

PLAIN_BYTES = 1024
"""Smaller replies are not worth compressing."""

PLAIN_BYTES_LOOPBACK = 64 * 1024
"""On loopback, compression costs more than it saves; but a loopback client may be the end of an SSH tunnel."""

MAX_DEPTH = 100
"""A note replaces deeper nesting: encoders and browsers recurse."""


def encode(record: msgspec.Struct) -> bytes:
    """Encode a record as JSON."""
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(msgspec.to_builtins(record, enc_hook=_named)))


def _named(value: object) -> wire.Number:
    """Write a number that JSON lacks: a `NonFinite` or a `LargeInteger`."""
    if isinstance(value, float | int):
        return wire.number(value)
    raise NotImplementedError(f"{type(value).__name__} has no form in JSON")


_encoder = msgspec.json.Encoder(enc_hook=_named)


def cleaned(value: Any) -> Any:
    """Return a JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def plain(value: Any, depth: int = 0) -> Any:
    """Convert a file's value to JSON that a browser reads unchanged: numbers as in `wire.number`, bools unchanged."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return wire.number(value)
    if depth >= MAX_DEPTH:
        return f"(nested deeper than {MAX_DEPTH} levels: look at the raw record)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list) and set(map(type, value)) == {float} and math.isfinite(sum(value)):
        return value  # a long array of numbers that need no conversion
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return str(value)


def error_reply(
    status: int, error: str, what_next: str, headers: Mapping[str, str] | None = None, place: int | None = None
) -> Response:
    """Return an `ErrorReply`."""
    body = encode(wire.ErrorReply(error=error, next=what_next, place=place))
    return Response(body, status, dict(headers or {}), media_type=JSON)


def attachment(name: str) -> dict[str, str]:
    """Return the headers that make a browser save the reply under a name."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}", "cache-control": "no-store"}


def no_content(headers: Mapping[str, str]) -> Response:
    """Return an empty reply."""
    return Response(status_code=204, headers=dict(headers))


def etag(*parts: str) -> str:
    """Return a weak validator for a reply that depends only on these parts."""
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f'W/"{digest}"'


def holds(headers: Headers, tag: str) -> bool:
    """True if the client already has the reply with this tag."""
    known = headers.get("if-none-match", "")
    return any(item.strip().removeprefix("W/") == tag.removeprefix("W/") for item in known.split(","))


def wants_gzip(headers: Headers, size: int, *, is_loopback: bool) -> bool:
    """True if a body of this size should be compressed for this client."""
    accepts = any(_accepts_gzip(item) for item in headers.get("accept-encoding", "").split(","))
    return accepts and size > (PLAIN_BYTES_LOOPBACK if is_loopback else PLAIN_BYTES)


def _accepts_gzip(item: str) -> bool:
    name, _, weight = item.partition(";")
    return name.strip().lower() == "gzip" and weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def compressed(body: bytes) -> bytes:
    """Compress at gzip's fastest level: a higher one costs more time than it saves on any link."""
    return gzip.compress(body, compresslevel=1, mtime=0)


def float32(values: Sequence[float]) -> bytes:
    """Encode numbers as little-endian float32: NaN and infinities stay; numbers out of range become infinite."""
    import numpy as np

    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float64).astype("<f4").tobytes()


def is_finite(value: float | None) -> bool:
    """True for a finite number."""
    return value is not None and math.isfinite(value)
