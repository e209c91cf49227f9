"""Tokenizer files: the choice of the file of a folder or a model, and its bounded reading.

A model's name leads to the local Hugging Face cache; its tokenizer is fetched into it if a person asks.

Sources of the formats: `decoders/` of huggingface/tokenizers 0.23; `tokens/tokenizers/tekken.py` of
mistralai/mistral-common; `sentencepiece_model.proto` and `sentencepiece_processor.cc` of google/sentencepiece.
"""

import base64
import hashlib
import os
import re
from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from rolloupe.errors import UnreadablePath, words_of
from rolloupe.model import Location, TokenizerFile
from rolloupe.protobuf import BadMessage, fields
from rolloupe.storage import file_state, folder_entries, is_file, is_folder, open_file, stamp_of_state
from rolloupe.tokenizer.vocabulary import BadTokenizer, Step, Tokenizer, Vocabulary, byte_fallback, bytes_of

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,95}"
_NAME = re.compile(rf"{_PART}(?:/{_PART})?")
"""The name of a model, such as `Qwen/Qwen3-4B`."""
_COMMIT = re.compile(rb"[0-9a-f]{40}")


def cached_model(name: str) -> str | None:
    """Return the folder of a model in the local cache, with its main branch as last fetched."""
    # `constants.py` of huggingface_hub says where the cache is.
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    cache = os.path.expanduser(named or os.path.join(home, "hub"))
    folder = os.path.join(cache, "models--" + name.replace("/", "--"))
    try:
        with open_file(Location(os.path.join(folder, "refs", "main"), os.sep)) as file:
            commit = file.read(40)
    except OSError:
        commit = b""
    snapshots = os.path.join(folder, "snapshots")
    if _COMMIT.fullmatch(commit):
        snapshot = os.path.join(snapshots, commit.decode())
        return snapshot if is_folder(snapshot) else None
    try:
        with folder_entries(Location(snapshots, os.sep)) as listing:
            names = sorted(entry.name for entry in listing if _COMMIT.fullmatch(os.fsencode(entry.name)))
    except OSError:
        return None
    return os.path.join(snapshots, names[0]) if len(names) == 1 else None


def is_missing_model(name: str) -> bool:
    """True for the name of a model, such as `Qwen/Qwen3-4B`, that the local cache lacks; no file or folder."""
    is_named = _NAME.fullmatch(name) is not None and "/" in name and "--" not in name
    is_file_name = name.endswith((".json", ".model", RANKS))
    return is_named and not is_file_name and not os.path.lexists(name) and cached_model(name) is None


def fetch_model(name: str) -> str:
    """Fetch the tokenizer of a model into the local cache, and return its folder. Raises `UnreadablePath`."""
    try:
        from huggingface_hub import HfApi, hf_hub_download
    except ImportError:
        raise UnreadablePath(
            f"the tokenizer {name} cannot be fetched without huggingface_hub. Next: pip install 'rolloupe[hub]'"
        ) from None
    try:
        info = HfApi().model_info(name, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        files = _vocabularies(list(sizes))[:1]
        files += {CONFIG} & sizes.keys() if files else ()
        too_large = [file for file in files if sizes[file] > MAX_BYTES]
        paths = [] if too_large else [hf_hub_download(name, file, revision=info.sha) for file in files]
    except Exception as error:
        raise UnreadablePath(f"the tokenizer {name} cannot be fetched: {words_of(error)}") from None
    if not files or too_large:
        reason = f"{too_large[0]} is larger than {MAX_BYTES // 2**20} MiB" if too_large else "it has no tokenizer file"
        raise UnreadablePath(f"the tokenizer {name} cannot be fetched: {reason}. Next: name another")
    return os.path.dirname(paths[0])


NAMES = (
    "tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
"""Files that hold a vocabulary. The first of them in a folder is read, else one that ends in `.tiktoken`."""
RANKS = ".tiktoken"
CONFIG = "tokenizer_config.json"
"""Lists the special tokens of vocabularies that have none of their own."""

MAX_BYTES = 128 * 2**20
"""The tokenizer.json of Gemma 3 has 33 MB."""
MAX_SPELLING = 4096
"""The most characters of a token: a short id must not become a long text."""
KEPT = 4
ANYWHERE = os.sep
"""The root of places that a person named: their links may lead anywhere."""

LFS_POINTER = b"version https://git-lfs"
KINDS = "a tokenizer.json, a tekken.json, a SentencePiece model, a tiktoken file"


def load(place: str | Path, *, download: bool = False) -> Tokenizer:
    """Load a tokenizer: a file, its folder, or a cached model, fetched with `download`. Raises `UnreadablePath`."""
    path = os.path.abspath(os.path.expanduser(place))
    try:
        if is_file(path):
            return load_at(Location(path, ANYWHERE))
        if is_folder(path):
            return _load_folder(path)
        if os.path.lexists(path):
            raise UnreadablePath(f"{path} is neither a folder nor a regular file. Next: name {KINDS}")
    except ValueError as error:  # a null byte
        raise UnreadablePath(f"{place!r} is not a path: {error}. Next: name {KINDS} or their folder") from None
    return load_named(str(place), download=download)


def load_named(name: str, *, download: bool = False) -> Tokenizer:
    """Load a tokenizer by the name of its model, as `load` does; a path is no such name. Raises `UnreadablePath`."""
    folder = None
    if _NAME.fullmatch(name) and "--" not in name:
        folder = cached_model(name) or (fetch_model(name) if download else None)
    if folder is None:
        raise UnreadablePath(
            f"there is no tokenizer {name[:200]}: no such file or folder, nor a model in the local Hugging Face cache. "
            f"Next: name {KINDS} or a folder that holds one, or fetch a model's with --download-tokenizer"
        )
    return _load_folder(folder)


def find_tokenizer(folder: Location) -> Location | None:
    """Return the tokenizer file of a folder; None without one."""
    try:
        with folder_entries(folder) as listing:
            names = _vocabularies([entry.name for entry in listing])
    except OSError:
        return None
    return Location(os.path.join(folder.path, names[0]), folder.root) if names else None


def load_at(location: Location) -> Tokenizer:
    """Load the tokenizer of a file. Raises `UnreadablePath`."""
    config = Location(os.path.join(os.path.dirname(location.path), CONFIG), location.root)
    return _loaded(location, config, (_state(location), _state(config)))


@lru_cache(maxsize=KEPT)
def load_unchanged(file: TokenizerFile) -> Tokenizer:
    """Load the tokenizer of a run. Raises `UnreadablePath` if its files changed since the run was opened."""
    tokenizer = load_at(Location(file.path, file.root))
    if tokenizer.file.digest != file.digest:
        raise UnreadablePath(f"the tokenizer {file.path} changed since the run was opened. Next: open the run again")
    return tokenizer


def _vocabularies(names: list[str]) -> list[str]:
    """Return the files of a folder that hold a vocabulary, the preferred one first."""
    return [name for name in NAMES if name in names] + sorted(name for name in names if name.endswith(RANKS))


def _load_folder(path: str) -> Tokenizer:
    location = find_tokenizer(Location(path, ANYWHERE))
    if location is None:
        raise UnreadablePath(f"{path} holds no tokenizer. Next: name {KINDS}")
    return load_at(location)


def _state(location: Location) -> tuple[int, int, int]:
    """Return the part of a file's state that changes with every write; zeros for a missing file."""
    try:
        return stamp_of_state(file_state(location))
    except OSError:
        return 0, 0, 0


@lru_cache(maxsize=KEPT)
def _loaded(location: Location, config: Location, states: tuple[tuple[int, int, int], ...]) -> Tokenizer:
    try:
        data = _read(location)
        is_json = data.lstrip()[:1] == b"{"
        settings = b"" if is_json or states[1] == (0, 0, 0) else _read(config)
        vocabulary = _vocabulary(data, settings)
    except BadTokenizer as error:
        raise UnreadablePath(f"{location.path} cannot be read as a tokenizer: {error}. Next: name {KINDS}") from None
    digest = hashlib.blake2b(data + settings, digest_size=16).hexdigest()
    return Tokenizer(TokenizerFile(path=location.path, root=location.root, digest=digest), vocabulary)


def _vocabulary(data: bytes, settings: bytes) -> Vocabulary:
    """Read a vocabulary, whose kind its bytes show, with the tokens that its `tokenizer_config.json` adds."""
    if data.startswith(LFS_POINTER):
        raise BadTokenizer("it is a Git LFS pointer, the file itself is not downloaded")
    if data.lstrip()[:1] == b"{":
        top = parse(data, _Top)
        is_tekken = top.model == NOTHING and top.vocab != NOTHING
        vocabulary = read_tekken(data) if is_tekken else read_tokenizer_json(data)
    else:
        vocabulary = read_ranks(data) if RANK_LINE.match(data) else read_sentence_piece(data)
        listed = parse(settings, _Config).added_tokens_decoder if settings else {}
        spellings = {**vocabulary.spellings, **{token: added.content for token, added in listed.items()}}
        vocabulary = replace(vocabulary, spellings=spellings, special=vocabulary.special | listed.keys())
    if max(map(len, vocabulary.spellings.values()), default=0) > MAX_SPELLING:
        raise BadTokenizer(f"it has a token of more than {MAX_SPELLING:,} characters")
    return vocabulary


def _read(location: Location) -> bytes:
    try:
        with open_file(location) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadTokenizer(error.strerror or str(error)) from None
    if len(data) > MAX_BYTES:
        raise BadTokenizer(f"it is larger than {MAX_BYTES // 2**20} MiB")
    return data


MAX_STEPS = 32
"""Tokenizers have up to five."""
MAX_ENTRIES = 2**21
"""Maximum number of entries, counted in the file before it is parsed: Gemma 3 has 0.9 million."""

MAX_STRIPPED = 16
"""Tokenizers strip one blank."""

Id = Annotated[int, Meta(ge=0, le=2**32 - 1)]
T = TypeVar("T")


class _AddedToken(Struct):
    content: str
    id: Id = 0


class _Model(Struct):
    vocab: dict[str, Id] | list[tuple[str, Any]]


class _Document(Struct):
    model: _Model
    added_tokens: list[_AddedToken] = []
    decoder: Any = None


class _Config(Struct):
    added_tokens_decoder: dict[Id, _AddedToken] = {}


def read_tokenizer_json(data: bytes) -> Vocabulary:
    """Read a `tokenizer.json`. Raises `BadTokenizer`."""
    document = parse(data, _Document)
    vocab = document.model.vocab
    ids = vocab.items() if isinstance(vocab, dict) else ((spelling, token) for token, (spelling, _) in enumerate(vocab))
    added = {token.id: token.content for token in document.added_tokens}
    spellings = {token: spelling for spelling, token in ids} | added
    return replace(_decoder(document.decoder), spellings=spellings, special=frozenset(added))


def parse(data: bytes, kind: type[T]) -> T:
    """Decode JSON. Raises `BadTokenizer`, also for more entries than any tokenizer has."""
    if data.count(b":") + data.count(b"[") > MAX_ENTRIES:
        raise BadTokenizer(f"it has more than {MAX_ENTRIES:,} entries")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTokenizer(f"its JSON is invalid, or no tokenizer's: {error}") from None
    except RecursionError:
        raise BadTokenizer("it is nested too deeply") from None


def _decoder(description: object) -> Vocabulary:
    """Return a vocabulary without spellings that decodes as described. Raises `BadTokenizer`."""
    if description is None:
        return Vocabulary(spellings={}, steps=(lambda piece: b" " + piece,), first_steps=())
    steps: list[tuple[Step, Step]] = []
    strip = ("", 0)
    is_joined = False
    for number, described in enumerate(_flat(description)):
        if number == MAX_STEPS:
            raise BadTokenizer(f"its decoder has more than {MAX_STEPS} steps")
        kind = described.get("type")
        if kind == "Fuse":
            is_joined = True
        elif is_joined and (kind != "Strip" or described.get("stop") or strip != ("", 0)):
            raise BadTokenizer(f"its decoder does {kind} after all tokens are joined, which is not supported")
        elif is_joined:
            strip = _character(described, "content"), _count(described, "start")
        else:
            steps.append(_step(kind, described))
            is_joined = kind == "ByteLevel"
    others, first = zip(*steps, strict=True) if steps else ((), ())
    return Vocabulary(spellings={}, steps=others, first_steps=first, strip=strip)


def _flat(description: object) -> Iterator[dict[str, Any]]:
    """Yield the steps of a decoder, those of sequences in their place."""
    waiting = [description]
    while waiting:
        described = waiting.pop()
        if not isinstance(described, dict):
            raise BadTokenizer("its decoder is not an object")
        if described.get("type") != "Sequence":
            yield described
            continue
        inner = described.get("decoders")
        waiting += reversed(inner) if isinstance(inner, list) else [inner]


def _step(kind: object, described: dict[str, Any]) -> tuple[Step, Step]:
    """Return a step, and its form for the first token of a text. Raises `BadTokenizer`."""
    if kind == "Metaspace":
        mark = _character(described, "replacement").encode()
        scheme, prefix = described.get("prepend_scheme", "always"), described.get("add_prefix_space")
        first = b"" if scheme != "never" and prefix is not False else b" "
        return lambda piece: piece.replace(mark, b" "), lambda piece: piece.replace(mark, first)
    if kind == "WordPiece":
        begin = _text_of(described, "prefix").encode()
        return (
            lambda piece: piece.removeprefix(begin) if piece.startswith(begin) else b" " + piece,
            lambda piece: piece,
        )
    step = _plain_step(kind, described)
    return step, step


def _plain_step(kind: object, described: dict[str, Any]) -> Step:
    if kind == "ByteLevel":
        return lambda piece: bytes_of(piece.decode("utf-8", "replace")) or piece
    if kind == "ByteFallback":
        return byte_fallback
    if kind == "Strip":
        character = _character(described, "content").encode()
        start, stop = _count(described, "start"), _count(described, "stop")

        def strip(piece: bytes) -> bytes:
            for _ in range(start):
                piece = piece.removeprefix(character)
            for _ in range(stop):
                piece = piece.removesuffix(character)
            return piece

        return strip
    if kind == "Replace":
        pattern, new = described.get("pattern"), _text_of(described, "content").encode()
        old = pattern.get("String") if isinstance(pattern, dict) else None
        if isinstance(old, str) and old and len(new) <= len(old.encode()):
            return lambda piece: piece.replace(old.encode(), new)
    raise BadTokenizer(f"its decoder does {str(kind)[:40]} in a way that is not supported")


def _text_of(described: dict[str, Any], key: str) -> str:
    value = described.get(key)
    return value if isinstance(value, str) else _lacking(described, f"text {key!r}")


def _character(described: dict[str, Any], key: str) -> str:
    value = _text_of(described, key)
    return value if len(value) == 1 else _lacking(described, f"single character {key!r}")


def _count(described: dict[str, Any], key: str) -> int:
    value: int = described.get(key, 0)
    fits = type(value) is int and 0 <= value <= MAX_STRIPPED
    return value if fits else _lacking(described, f"small number {key!r}")


def _lacking(described: dict[str, Any], what: str) -> NoReturn:
    raise BadTokenizer(f"the step {described.get('type')} of its decoder has no {what}")


FIRST = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] "
    "[IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
).split()
"""The special tokens of files of 2024, which list none."""


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
    default_num_special_tokens: Annotated[int, Meta(ge=0, le=2**16)]


class _Tekken(Struct):
    config: _Sizes
    vocab: list[_Ranked]
    special_tokens: list[_Named] | None = None


def read_tekken(data: bytes) -> Vocabulary:
    """Read a `tekken.json`. Raises `BadTokenizer`."""
    document = parse(data, _Tekken)
    first = document.config.default_num_special_tokens
    ordinary = document.config.default_vocab_size - first
    spellings: dict[int, str | bytes] = {number: f"<SPECIAL_{number}>" for number in range(first)}
    listed = document.special_tokens
    names = enumerate(FIRST) if listed is None else ((token.rank, token.token_str) for token in listed)
    spellings.update((rank, name) for rank, name in names if rank < first)
    for token in document.vocab:
        if token.rank < ordinary:
            try:
                spellings[first + token.rank] = base64.b64decode(token.token_bytes, validate=True)
            except ValueError:
                raise BadTokenizer(f"its token of the rank {token.rank} is not in base64") from None
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
    pieces: list[tuple[bytes, int]] = []
    settings: dict[int, int | bytes] = {DUMMY_PREFIX: 1, REMOVE_EXTRA: 1}
    try:
        for field, value in fields(data, MAX_PIECES):
            if not isinstance(value, bytes):
                raise BadTokenizer("it is another protocol buffer than a SentencePiece model")
            if field == PIECES:
                pieces.append(_piece_of(value))
            elif field == NORMALIZER:
                settings.update(fields(value, MAX_FIELDS))
    except BadMessage as error:
        raise BadTokenizer(str(error)) from None
    if not pieces:
        raise BadTokenizer("it has no pieces")
    literal = {spelling for spelling, kind in pieces if kind in (UNKNOWN, CONTROL)}
    drops_all = bool(settings[REMOVE_EXTRA])
    return Vocabulary(
        spellings={token: spelling for token, (spelling, _) in enumerate(pieces)},
        special=frozenset(token for token, (_, kind) in enumerate(pieces) if kind in (UNKNOWN, CONTROL, USER_DEFINED)),
        is_first_until_text=drops_all,
        steps=(_blanks(literal, drops_first=False),),
        first_steps=(_blanks(literal, drops_first=drops_all or bool(settings[DUMMY_PREFIX])),),
    )


def _blanks(literal: Container[bytes], *, drops_first: bool) -> Step:
    """Return the step that writes the blanks of a piece, unless it is a literal one."""

    def step(piece: bytes) -> bytes:
        if piece in literal:
            return piece
        return (piece.removeprefix(BLANK) if drops_first else piece).replace(BLANK, b" ")

    return step


def _piece_of(message: bytes) -> tuple[bytes, int]:
    members = dict(fields(message, MAX_FIELDS))
    spelling, kind = members.get(PIECE, b""), members.get(TYPE, 1)
    if not isinstance(spelling, bytes) or not isinstance(kind, int):
        raise BadTokenizer("it is another protocol buffer than a SentencePiece model")
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
