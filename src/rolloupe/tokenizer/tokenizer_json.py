"""`tokenizer.json` of the Hugging Face tokenizers library: its vocabulary, its added tokens and its decoder.

Source: `decoders/` of huggingface/tokenizers 0.23. What it calls a decoder is a list of steps from the spelling of a
token to its text. Steps that need to see all tokens at once, of speech models and of models before 2019, are refused.
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import msgspec

from rolloupe.tokenizer.spellings import byte_fallback, bytes_of
from rolloupe.tokenizer.vocabulary import BadTokenizer, Step, Vocabulary

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


def read(data: bytes) -> Vocabulary:
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
        return _joining(_text(one, "prefix").encode()), _unchanged
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
        pattern, new = one.get("pattern"), _text(one, "content").encode()
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


def _text(one: dict[str, Any], key: str) -> str:
    value = one.get(key)
    if not isinstance(value, str):
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no text {key!r}")
    return value


def _character(one: dict[str, Any], key: str) -> str:
    value = _text(one, key)
    if len(value) != 1:
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no single character {key!r}")
    return value


def _count(one: dict[str, Any], key: str) -> int:
    value = one.get(key, 0)
    if type(value) is not int or not 0 <= value <= MAX_STRIPPED:
        raise BadTokenizer(f"the step {one.get('type')} of its decoder has no small number {key!r}")
    return value
