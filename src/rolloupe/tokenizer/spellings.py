"""How vocabularies spell bytes: in the alphabet of GPT-2, or as SentencePiece does, `<0x0A>`.

The byte-level alphabet of GPT-2 has a letter for each byte: `Ġ` for a blank, `Ċ` for a line break.
"""

import re
from collections.abc import Iterator


def _letters() -> Iterator[tuple[str, int]]:
    """The letter of each byte. Source: `bytes_to_unicode` of GPT-2's encoder."""
    itself = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    for byte in range(256):
        yield (chr(byte) if byte in itself else chr(next(others))), byte


_BYTE = re.compile(rb"<0x([0-9A-Fa-f]{2})>")
BYTES = dict(_letters())
"""The byte of each letter."""

LETTERS = {byte: letter for letter, byte in BYTES.items()}


def bytes_of(letters: str) -> bytes | None:
    """Return the bytes that a text of this alphabet spells; None for a text with other letters."""
    try:
        return bytes(map(BYTES.__getitem__, letters))
    except KeyError:
        return None


def byte_fallback(piece: bytes) -> bytes:
    """Return the byte that a piece such as `<0x0A>` names, and any other piece as it is."""
    match = _BYTE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece
