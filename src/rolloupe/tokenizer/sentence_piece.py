"""SentencePiece models (`tokenizer.model`): a protocol buffer, of which decoding needs the pieces and one setting.

Source: `sentencepiece_model.proto` of google/sentencepiece. A piece of the type byte is one byte, control and
user-defined pieces are special, and `▁` is a blank. The blank that a model puts before each text is stripped again.
"""

from collections.abc import Iterator

from rolloupe.tokenizer.spellings import byte_fallback
from rolloupe.tokenizer.vocabulary import BadTokenizer, Vocabulary

PIECES, NORMALIZER = 1, 3
"""Fields of the model."""
PIECE, TYPE = 1, 3
"""Fields of a piece."""
DUMMY_PREFIX = 3
"""A field of the normalizer: whether a blank is put before each text."""
UNKNOWN, CONTROL, USER_DEFINED, BYTE = 2, 3, 4, 6
"""Types of pieces."""
NUMBER, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
"""Kinds of values."""

MAX_PIECES = 2**22


def read(data: bytes) -> Vocabulary:
    """Read a SentencePiece model. Raises `BadTokenizer`."""
    spellings: dict[int, str | bytes] = {}
    special = set()
    is_prefixed = True
    for field, value in _fields(data):
        if field == PIECES and isinstance(value, bytes):
            if len(spellings) == MAX_PIECES:
                raise BadTokenizer(f"it has more than {MAX_PIECES:,} pieces")
            spelling, kind = _piece(value)
            if kind in (UNKNOWN, CONTROL, USER_DEFINED):
                special.add(len(spellings))
            spellings[len(spellings)] = spelling
        elif field == NORMALIZER and isinstance(value, bytes):
            is_prefixed = all(setting != 0 for number, setting in _fields(value) if number == DUMMY_PREFIX)
    if not spellings:
        raise BadTokenizer("it has no pieces")
    return Vocabulary(spellings=spellings, special=frozenset(special), strip=(" ", 1) if is_prefixed else ("", 0))


def _piece(message: bytes) -> tuple[bytes, int]:
    """Return what a piece spells, and its type."""
    spelling, kind = b"", 1
    for field, value in _fields(message):
        if field == PIECE and isinstance(value, bytes):
            spelling = value
        elif field == TYPE and isinstance(value, int):
            kind = value
    if kind == BYTE:
        return byte_fallback(spelling), kind
    return spelling if kind in (UNKNOWN, CONTROL) else spelling.replace("▁".encode(), b" "), kind


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: their numbers and values. Raises `BadTokenizer`."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _number(message, at)
        field, kind = tag >> 3, tag & 7
        if kind == NUMBER:
            value, at = _number(message, at)
            yield field, value
            continue
        if kind == BYTES:
            size, at = _number(message, at)
        elif kind in (FOUR_BYTES, EIGHT_BYTES):
            size = 4 if kind == FOUR_BYTES else 8
        else:
            raise BadTokenizer(f"at byte {at} it is no protocol buffer")
        if not field or size > end - at:
            raise BadTokenizer(f"at byte {at} it is cut, or no protocol buffer")
        yield field, message[at : at + size]
        at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Read an integer of seven bits a byte, and where it ends."""
    if at < len(message) and message[at] < 0x80:  # most are small
        return message[at], at + 1
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at
    raise BadTokenizer(f"at byte {at} it is cut, or no protocol buffer")
