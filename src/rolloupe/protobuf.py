"""Reads the fields of protocol buffers as data, without descriptions of messages or generated code.

Source: https://protobuf.dev/programming-guides/encoding/. Groups are not read.
"""

import struct
from collections.abc import Iterator

NUMBER, BYTES = 0, 2
"""Kinds of values of no fixed size."""
SIZES = {1: 8, 5: 4}
"""The sizes of the other kinds."""


class BadMessage(ValueError):
    """Raised for bytes that are not a message; its text is the reason."""


def fields(message: bytes, most: int = 1_000_000) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message; a value of a fixed size as its bytes.

    Raises `BadMessage`, also for more than `most` fields.
    """
    at, end, count = 0, len(message), 0
    while at < end:
        count += 1
        tag, at = varint(message, at)
        field, kind = tag >> 3, tag & 7
        if count > most:
            raise BadMessage(f"it has more than {most:,} fields")
        if field and kind == NUMBER:
            value, at = varint(message, at)
            yield field, value
            continue
        if kind == BYTES:
            size, at = varint(message, at)
        else:
            size = SIZES.get(kind, end)
        if not field or size > end - at:
            raise BadMessage(f"at byte {at} it is cut, or is not a protocol buffer")
        yield field, message[at : at + size]
        at += size


def members(message: object) -> dict[int, int | bytes]:
    """Return the last value of each field of a message, without fields whose last value is not bytes. Raises
    `BadMessage`.
    """
    return dict(fields(message)) if isinstance(message, bytes) else {}


def repeated(message: bytes, field: int) -> Iterator[bytes]:
    """Yield the values of a field that holds texts or messages. Raises `BadMessage`."""
    return (value for number, value in fields(message) if number == field and isinstance(value, bytes))


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Read an integer of seven bits a byte; return it, and the place after it. Raises `BadMessage`."""
    if at < len(message) and message[at] < 0x80:  # most are small
        return message[at], at + 1
    number = 0
    for shift, byte in zip(range(0, 70, 7), message[at : at + 10], strict=False):
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise BadMessage(f"at byte {at} it is cut, or is not a protocol buffer")


def signed(number: int) -> int:
    """Return an integer that is stored in 64 bits, as a negative one is, with its sign."""
    return number - 2**64 if number >= 2**63 else number


def real(value: object) -> float | None:
    """Read a float or a double from its bytes; None for anything else."""
    if isinstance(value, bytes) and len(value) in (4, 8):
        number: float = struct.unpack("<f" if len(value) == 4 else "<d", value)[0]
        return number
    return None


def decoded(value: object) -> str:
    """Read a text from its bytes; an empty one for anything else."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
