"""Replies: records as JSON bytes, errors as `ErrorReply`, validation by ETag, compression.

msgspec writes NaN as null without a word and refuses lone surrogates; so numbers go through `wire.number` or `plain`
before they are put into a record, and a text that cannot be encoded has its lone surrogates replaced.
"""

import gzip
import hashlib
import math
from collections.abc import Mapping
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
"""On loopback compression costs more than it saves, but what is there may be the end of an SSH tunnel."""

MAX_DEPTH = 100
"""Nesting beyond this is told, not sent: encoders and browsers recurse."""


def encode(record: msgspec.Struct) -> bytes:
    """A record as JSON."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(cleaned(msgspec.to_builtins(record)))


def cleaned(value: Any) -> Any:
    """The same JSON value with every lone surrogate replaced."""
    if isinstance(value, str):
        return text.clean(value)
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list) else value


def plain(value: Any, depth: int = 0) -> Any:
    """A value from a file as JSON that a browser reads unchanged: numbers as in `wire.number`, bools as they are."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return wire.number(value)
    if depth >= MAX_DEPTH:
        return f"(nested deeper than {MAX_DEPTH} levels: look at the raw record)"
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list) and set(map(type, value)) == {float} and math.isfinite(sum(value)):
        return value  # a long array of numbers that can all be sent as they are
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in value]
    return str(value)


def error_reply(
    status: int, error: str, what_next: str, headers: Mapping[str, str] | None = None, place: int | None = None
) -> Response:
    """An `ErrorReply`."""
    body = encode(wire.ErrorReply(error=error, next=what_next, place=place))
    return Response(body, status, dict(headers or {}), media_type=JSON)


def attachment(name: str) -> dict[str, str]:
    """The headers of a file that a browser saves under a name."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}", "cache-control": "no-store"}


def no_content(headers: Mapping[str, str]) -> Response:
    """An empty reply."""
    return Response(status_code=204, headers=dict(headers))


def etag(*parts: str) -> str:
    """A weak validator for what follows from the parts alone."""
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f'W/"{digest}"'


def holds(headers: Headers, tag: str) -> bool:
    """True where the client already has what the tag stands for."""
    known = headers.get("if-none-match", "")
    return any(item.strip().removeprefix("W/") == tag.removeprefix("W/") for item in known.split(","))


def wants_gzip(headers: Headers, size: int, *, is_loopback: bool) -> bool:
    """True where a body of that size should be compressed for that client."""
    accepts = any(_accepts_gzip(item) for item in headers.get("accept-encoding", "").split(","))
    return accepts and size > (PLAIN_BYTES_LOOPBACK if is_loopback else PLAIN_BYTES)


def _accepts_gzip(item: str) -> bool:
    name, _, weight = item.partition(";")
    return name.strip().lower() == "gzip" and weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")


def compressed(body: bytes) -> bytes:
    """Gzip at its quickest: a further level costs more time than it saves on any link there is."""
    return gzip.compress(body, compresslevel=1, mtime=0)


def float32(values: list[float]) -> bytes:
    """Numbers as little-endian float32: NaN and the infinities stay, what is out of range becomes an infinity."""
    import numpy as np

    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float64).astype("<f4").tobytes()


def is_finite(value: float | None) -> bool:
    """True for a number that can be calculated with."""
    return value is not None and math.isfinite(value)
