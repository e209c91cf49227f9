"""The formats of vocabularies: `tokenizer.json`, `tekken.json`, SentencePiece models and tiktoken files.

Sources: `decoders/` of huggingface/tokenizers 0.23; `tokens/tokenizers/tekken.py` of mistralai/mistral-common;
`sentencepiece_model.proto` and `sentencepiece_processor.cc` of google/sentencepiece.
"""

import base64
import re
from collections.abc import Container, Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from rolloupe.protobuf import BadMessage, fields
from rolloupe.tokenizer.vocabulary import BadTokenizer, Step, Vocabulary, byte_fallback, bytes_of

MAX_STEPS = 32
"""Tokenizers have up to five."""
MAX_ENTRIES = 2**21
"""Maximum number of entries, counted in the file before it is parsed: Gemma 3 has 0.9 million."""

MAX_STRIPPED = 16
"""Tokenizers strip one blank."""

Id = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
T = TypeVar("T")


class AddedToken(msgspec.Struct):
    """A token that was added to a vocabulary."""

    content: str
    id: Id = 0


class _Model(msgspec.Struct):
    vocab: dict[str, Id] | list[tuple[str, Any]]


class _Document(msgspec.Struct):
    model: _Model
    added_tokens: list[AddedToken] = []
    decoder: Any = None


class _Config(msgspec.Struct):
    added_tokens_decoder: dict[Id, AddedToken] = {}


def read_tokenizer_json(data: bytes) -> Vocabulary:
    """Read a `tokenizer.json`. Raises `BadTokenizer`."""
    check_entries(data)
    document = parse(data, _Document)
    vocab = document.model.vocab
    spellings: dict[int, str | bytes] = {}
    if isinstance(vocab, dict):
        spellings.update({token: spelling for spelling, token in vocab.items()})
    else:
        spellings.update(enumerate(spelling for spelling, _ in vocab))
    spellings.update({added.id: added.content for added in document.added_tokens})
    special = frozenset(added.id for added in document.added_tokens)
    return msgspec.structs.replace(_decoder(document.decoder), spellings=spellings, special=special)


def check_entries(data: bytes) -> None:
    """Raise `BadTokenizer` for JSON with more entries than any tokenizer has."""
    if data.count(b":") + data.count(b"[") > MAX_ENTRIES:
        raise BadTokenizer(f"it has more than {MAX_ENTRIES:,} entries")


def with_added_tokens(vocabulary: Vocabulary, config: bytes) -> Vocabulary:
    """Add the tokens that a `tokenizer_config.json` lists; empty without such a file. Raises `BadTokenizer`."""
    listed = parse(config, _Config).added_tokens_decoder if config else {}
    added: dict[int, str | bytes] = {token: one.content for token, one in listed.items()}
    spellings, special = {**vocabulary.spellings, **added}, vocabulary.special | added.keys()
    return msgspec.structs.replace(vocabulary, spellings=spellings, special=special)


def parse(data: bytes, kind: type[T]) -> T:
    """Decode JSON. Raises `BadTokenizer`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTokenizer(f"it is not such JSON: {error}") from None
    except RecursionError:
        raise BadTokenizer("it is nested too deeply") from None


def _decoder(description: object) -> Vocabulary:
    """Return a vocabulary without spellings that decodes as described. Raises `BadTokenizer`."""
    if description is None:
        return Vocabulary(spellings={}, steps=(_after_blank,), first_steps=())
    steps: list[tuple[Step, Step]] = []
    strip = ("", 0)
    is_joined = False
    for number, one in enumerate(_flat(description)):
        if number == MAX_STEPS:
            raise BadTokenizer(f"its decoder has more than {MAX_STEPS} steps")
        kind = one.get("type")
        if kind == "Fuse":
            is_joined = True
        elif is_joined and (kind != "Strip" or one.get("stop") or strip != ("", 0)):
            raise BadTokenizer(f"its decoder does {kind} after all tokens are joined, which is not supported")
        elif is_joined:
            strip = _character(one, "content"), _count(one, "start")
        else:
            steps.append(_step(kind, one))
            is_joined = kind == "ByteLevel"
    others, first = zip(*steps, strict=True) if steps else ((), ())
    return Vocabulary(spellings={}, steps=others, first_steps=first, strip=strip)


def _flat(description: object) -> Iterator[dict[str, Any]]:
    """Yield the steps of a decoder, those of sequences in their place."""
    waiting = [description]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict):
            raise BadTokenizer("its decoder is no object")
        if one.get("type") != "Sequence":
            yield one
            continue
        inner = one.get("decoders")
        waiting += reversed(inner) if isinstance(inner, list) else [inner]


def _step(kind: object, one: dict[str, Any]) -> tuple[Step, Step]:
    """Return a step, and the same for the first token of a text."""
    if kind == "Metaspace":
        mark = _character(one, "replacement").encode()
        is_prefixed = one.get("prepend_scheme", "always") != "never" and one.get("add_prefix_space") is not False
        return _replacing(mark, b" "), _replacing(mark, b"" if is_prefixed else b" ")
    if kind == "WordPiece":
        return _joining(_text_of(one, "prefix").encode()), _unchanged
    step = _plain_step(kind, one)
    return step, step


def _plain_step(kind: object, one: dict[str, Any]) -> Step:
    if kind == "ByteLevel":
        return _byte_level
    if kind == "ByteFallback":
        return byte_fallback
    if kind == "Strip":
        return _stripping(_character(one, "content").encode(), _count(one, "start"), _count(one, "stop"))
    if kind == "Replace":
        pattern, new = one.get("pattern"), _text_of(one, "content").encode()
        old = pattern.get("String") if isinstance(pattern, dict) else None
        if isinstance(old, str) and old and len(new) <= len(old.encode()):
            return _replacing(old.encode(), new)
    raise BadTokenizer(f"its decoder does {str(kind)[:40]} in a way that is not supported")


def _unchanged(piece: bytes) -> bytes:
    return piece


def _after_blank(piece: bytes) -> bytes:
    return b" " + piece


def _byte_level(piece: bytes) -> bytes:
    found = bytes_of(piece.decode("utf-8", "replace"))
    return piece if found is None else found


def _replacing(old: bytes, new: bytes) -> Step:
    return lambda piece: piece.replace(old, new)


def _joining(prefix: bytes) -> Step:
    return lambda piece: piece.removeprefix(prefix) if piece.startswith(prefix) else b" " + piece


def _stripping(character: bytes, start: int, stop: int) -> Step:
    def step(piece: bytes) -> bytes:
        for _ in range(start):
            piece = piece.removeprefix(character)
        for _ in range(stop):
            piece = piece.removesuffix(character)
        return piece

    return step


def _text_of(one: dict[str, Any], key: str) -> str:
    value = one.get(key)
    if not isinstance(value, str):
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no text {key!r}")
    return value


def _character(one: dict[str, Any], key: str) -> str:
    value = _text_of(one, key)
    if len(value) != 1:
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no single character {key!r}")
    return value


def _count(one: dict[str, Any], key: str) -> int:
    value = one.get(key, 0)
    if type(value) is not int or not 0 <= value <= MAX_STRIPPED:
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no small number {key!r}")
    return value


MAX_SPECIAL = 2**16
FIRST = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] "
    "[IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
).split()
"""The special tokens of files that list none, of 2024."""


NOTHING = Raw()


class _Top(Struct):
    model: Raw = NOTHING
    vocab: Raw = NOTHING


class _Ranked(Struct):
    rank: Id
    token_bytes: str


class _Named(Struct):
    rank: Id
    token_str: str


class _Sizes(Struct):
    default_vocab_size: Id
    default_num_special_tokens: Annotated[int, Meta(ge=0, le=MAX_SPECIAL)]


class _Tekken(Struct):
    config: _Sizes
    vocab: list[_Ranked]
    special_tokens: list[_Named] | None = None


def is_tekken(data: bytes) -> bool:
    """Tell whether JSON is a tekken.json and no tokenizer.json. Raises `BadTokenizer`."""
    top = parse(data, _Top)
    return top.model == NOTHING and top.vocab != NOTHING


def read_tekken(data: bytes) -> Vocabulary:
    """Read a `tekken.json`. Raises `BadTokenizer`."""
    check_entries(data)
    document = parse(data, _Tekken)
    first = document.config.default_num_special_tokens
    ordinary = document.config.default_vocab_size - first
    spellings: dict[int, str | bytes] = {number: f"<SPECIAL_{number}>" for number in range(first)}
    listed = document.special_tokens
    names = enumerate(FIRST) if listed is None else ((one.rank, one.token_str) for one in listed)
    spellings.update((rank, name) for rank, name in names if rank < first)
    try:
        for one in document.vocab:
            if one.rank < ordinary:
                spellings[first + one.rank] = base64.b64decode(one.token_bytes, validate=True)
    except ValueError:
        raise BadTokenizer(f"its token of the rank {one.rank} is no base64") from None
    return Vocabulary(spellings=spellings, special=frozenset(range(first)))


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


def read_sentence_piece(data: bytes) -> Vocabulary:
    """Read a SentencePiece model. Raises `BadTokenizer`."""
    try:
        return _pieces_of(data)
    except BadMessage as error:
        raise BadTokenizer(str(error)) from None


def _pieces_of(data: bytes) -> Vocabulary:
    spellings: dict[int, str | bytes] = {}
    special = set()
    literal = set()
    settings: dict[int, int | bytes] = {DUMMY_PREFIX: 1, REMOVE_EXTRA: 1}
    for field, value in fields(data, MAX_PIECES):
        if not isinstance(value, bytes):
            raise BadTokenizer("it is another protocol buffer than a SentencePiece model")
        if field == PIECES:
            spelling, kind = _piece_of(value)
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


def _piece_of(message: bytes) -> tuple[bytes, int]:
    """Return what a piece spells, and its type."""
    spelling, kind = b"", 1
    for field, value in fields(message, MAX_FIELDS):
        if field == PIECE and isinstance(value, bytes):
            spelling = value
        elif field == TYPE and isinstance(value, int):
            kind = value
    return byte_fallback(spelling) if kind == BYTE else spelling, kind


MAX_RANKS = 2**21
RANK_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2}) (\d{1,10})\r?")


def read_ranks(data: bytes) -> Vocabulary:
    """Read a tiktoken file. Raises `BadTokenizer`."""
    if data.count(b"\n") > MAX_RANKS:
        raise BadTokenizer(f"it has more than {MAX_RANKS:,} lines")
    spellings: dict[int, str | bytes] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        match = RANK_LINE.fullmatch(line)
        if match is None or len(match[1]) % 4:
            raise BadTokenizer(f"its line {number} is not a token in base64 and its rank")
        spellings[int(match[2])] = base64.b64decode(match[1])
    return Vocabulary(spellings=spellings)
