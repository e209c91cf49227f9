"""The fields of a protocol buffer, read as data: no descriptions of messages, no generated code.

Source: the encoding of protocol buffers, https://protobuf.dev/programming-guides/encoding/. Groups are not read.
"""

from collections.abc import Iterator

NUMBER, BYTES = 0, 2
SIZES = {1: 8, 5: 4}
"""Kinds of values; those of a fixed size with it."""


class BadMessage(ValueError):
    """Raised for bytes that are no message; its text is the reason."""


def fields(message: bytes, most: int = 1_000_000) -> Iterator[tuple[int, int | bytes]]:
    """Yield numbers and values of the fields of a message; a value of a fixed size as its bytes.

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
            raise BadMessage(f"at byte {at} it is cut, or no protocol buffer")
        yield field, message[at : at + size]
        at += size


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Read an integer of seven bits a byte, and where it ends."""
    if at < len(message) and message[at] < 0x80:  # most are small
        return message[at], at + 1
    number = 0
    for shift, byte in zip(range(0, 70, 7), message[at : at + 10], strict=False):
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise BadMessage(f"at byte {at} it is cut, or no protocol buffer")


def signed(number: int) -> int:
    """Return the integer of which a negative one is stored with 64 bits."""
    return number - 2**64 if number >= 2**63 else number
