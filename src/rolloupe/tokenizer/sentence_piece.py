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
NUMBER, BYTES = 0, 2
SIZES = {1: 8, 5: 4}
"""Kinds of values; those of a fixed size with it."""

MAX_PIECES = 2**21
MAX_FIELDS = 100
"""Maximum number of fields of anything but the model: a piece has three."""


def read(data: bytes) -> Vocabulary:
    """Read a SentencePiece model. Raises `BadTokenizer`."""
    spellings: dict[int, str | bytes] = {}
    special = set()
    is_prefixed = True
    for field, value in _fields(data, MAX_PIECES):
        if not isinstance(value, bytes):
            raise BadTokenizer("it is another protocol buffer than a SentencePiece model")
        if field == PIECES:
            spelling, kind = _piece(value)
            if kind in (UNKNOWN, CONTROL, USER_DEFINED):
                special.add(len(spellings))
            spellings[len(spellings)] = spelling
        elif field == NORMALIZER:
            settings = [setting for number, setting in _fields(value, MAX_FIELDS) if number == DUMMY_PREFIX]
            is_prefixed = settings[-1:] != [0]
    if not spellings:
        raise BadTokenizer("it has no pieces")
    return Vocabulary(spellings=spellings, special=frozenset(special), strip=(" ", 1) if is_prefixed else ("", 0))


def _piece(message: bytes) -> tuple[bytes, int]:
    """Return what a piece spells, and its type."""
    spelling, kind = b"", 1
    for field, value in _fields(message, MAX_FIELDS):
        if field == PIECE and isinstance(value, bytes):
            spelling = value
        elif field == TYPE and isinstance(value, int):
            kind = value
    if kind == BYTE:
        return byte_fallback(spelling), kind
    return spelling if kind in (UNKNOWN, CONTROL) else spelling.replace("▁".encode(), b" "), kind


def _fields(message: bytes, most: int) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: their numbers and values. Raises `BadTokenizer`, also for too many."""
    at, end, count = 0, len(message), 0
    while at < end:
        count += 1
        tag, at = _number(message, at)
        field, kind = tag >> 3, tag & 7
        if count > most:
            raise BadTokenizer(f"it has more than {most:,} fields")
        if field and kind == NUMBER:
            value, at = _number(message, at)
            yield field, value
            continue
        if kind == BYTES:
            size, at = _number(message, at)
        else:
            size = SIZES.get(kind, end)
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
