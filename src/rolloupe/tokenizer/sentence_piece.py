"""SentencePiece models (`tokenizer.model`): a protocol buffer, of which decoding needs the pieces and two settings.

Source: `sentencepiece_model.proto` of google/sentencepiece. A piece of the type byte is one byte, control and
user-defined pieces are special, and `▁` is a blank. A model that puts a blank before each text, or that drops blanks
there, decodes without them: `Decode` of `sentencepiece_processor.cc`.
"""

from collections.abc import Container

from rolloupe.protobuf import BadMessage, fields
from rolloupe.tokenizer.spellings import byte_fallback
from rolloupe.tokenizer.vocabulary import BadTokenizer, Step, Vocabulary

PIECES, NORMALIZER = 1, 3
"""Fields of the model."""
PIECE, TYPE = 1, 3
"""Fields of a piece."""
DUMMY_PREFIX, REMOVE_EXTRA = 3, 4
"""Fields of the normalizer: whether a blank is put before each text, and whether other blanks there are dropped."""
BLANK = "▁".encode()
UNKNOWN, CONTROL, USER_DEFINED, BYTE = 2, 3, 4, 6
"""Types of pieces."""

MAX_PIECES = 2**21
MAX_FIELDS = 100
"""Maximum number of fields of anything but the model: a piece has three."""


def read(data: bytes) -> Vocabulary:
    """Read a SentencePiece model. Raises `BadTokenizer`."""
    try:
        return _read(data)
    except BadMessage as error:
        raise BadTokenizer(str(error)) from None


def _read(data: bytes) -> Vocabulary:
    spellings: dict[int, str | bytes] = {}
    special = set()
    literal = set()
    settings: dict[int, int | bytes] = {DUMMY_PREFIX: 1, REMOVE_EXTRA: 1}
    for field, value in fields(data, MAX_PIECES):
        if not isinstance(value, bytes):
            raise BadTokenizer("it is another protocol buffer than a SentencePiece model")
        if field == PIECES:
            spelling, kind = _piece(value)
            if kind in (UNKNOWN, CONTROL, USER_DEFINED):
                special.add(len(spellings))
            if kind in (UNKNOWN, CONTROL):
                literal.add(spelling)
            spellings[len(spellings)] = spelling
        elif field == NORMALIZER:
            settings.update(fields(value, MAX_FIELDS))
    if not spellings:
        raise BadTokenizer("it has no pieces")
    drops, drops_all = settings[DUMMY_PREFIX] or settings[REMOVE_EXTRA], bool(settings[REMOVE_EXTRA])
    return Vocabulary(
        spellings=spellings, special=frozenset(special), is_first_until_text=drops_all,
        steps=(_blanks(literal, drops_first=False),), first_steps=(_blanks(literal, drops_first=bool(drops)),),
    )  # fmt: skip


def _blanks(literal: Container[bytes], *, drops_first: bool) -> Step:
    """Return the step that writes the blanks of a piece, unless it is a literal one."""

    def step(piece: bytes) -> bytes:
        if piece in literal:
            return piece
        return (piece.removeprefix(BLANK) if drops_first else piece).replace(BLANK, b" ")

    return step


def _piece(message: bytes) -> tuple[bytes, int]:
    """Return what a piece spells, and its type."""
    spelling, kind = b"", 1
    for field, value in fields(message, MAX_FIELDS):
        if field == PIECE and isinstance(value, bytes):
            spelling = value
        elif field == TYPE and isinstance(value, int):
            kind = value
    return byte_fallback(spelling) if kind == BYTE else spelling, kind
