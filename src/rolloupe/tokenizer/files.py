"""Tokenizer files: which file of a folder or of a model is read, as what, and within which bounds.

A model's name leads to the local Hugging Face cache, into which its tokenizer is fetched where a person asks.
"""

import hashlib
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from rolloupe.errors import UnreadablePath, words_of
from rolloupe.model import Location, TokenizerFile
from rolloupe.storage import file_state, folder_entries, is_file, is_folder, open_file
from rolloupe.tokenizer.formats import (
    RANK_LINE,
    is_tekken,
    read_ranks,
    read_sentence_piece,
    read_tekken,
    read_tokenizer_json,
    with_added_tokens,
)
from rolloupe.tokenizer.vocabulary import BadTokenizer, Tokenizer, Vocabulary

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,95}"
_NAME = re.compile(rf"{_PART}(?:/{_PART})?")
_COMMIT = re.compile(rb"[0-9a-f]{40}")


def is_model_name(text: str) -> bool:
    """Tell whether a text may be the name of a model, such as `Qwen/Qwen3-4B`."""
    return _NAME.fullmatch(text) is not None and "--" not in text


def cached_model(name: str) -> str | None:
    """Return the folder of a model in the local cache: what its main branch was when it was fetched last."""
    folder = os.path.join(_cache_folder(), "models--" + name.replace("/", "--"))
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


def _cache_folder() -> str:
    """Source: `constants.py` of huggingface_hub."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache")
    home = os.environ.get("HF_HOME") or os.path.join(cache, "huggingface")
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return os.path.expanduser(named or os.path.join(home, "hub"))


def fetch_model(name: str, choose: Callable[[list[str]], list[str]], max_bytes: int) -> str:
    """Fetch the chosen files of a model into the local cache, and return their folder. Raises `UnreadablePath`."""
    try:
        from huggingface_hub import HfApi, hf_hub_download
    except ImportError:
        raise UnreadablePath(
            f"the tokenizer {name} cannot be fetched without huggingface_hub. Next: pip install 'rolloupe[hub]'"
        ) from None
    try:
        info = HfApi().model_info(name, files_metadata=True)
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
        files = choose(list(sizes))
        too_large = [file for file in files if sizes[file] > max_bytes]
        if not too_large:
            paths = [hf_hub_download(name, file, revision=info.sha) for file in files]
    except Exception as error:
        raise UnreadablePath(f"the tokenizer {name} cannot be fetched: {words_of(error)}") from None
    if not files or too_large:
        reason = f"{too_large[0]} is larger than {max_bytes // 2**20} MiB" if too_large else "it has no tokenizer file"
        raise UnreadablePath(f"the tokenizer {name} cannot be fetched: {reason}. Next: name another")
    return os.path.dirname(paths[0])


NAMES = (
    "tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
"""Files that hold a vocabulary. Of a folder the first of these is read, else one that ends in `.tiktoken`."""
RANKS = ".tiktoken"
CONFIG = "tokenizer_config.json"
"""Lists the special tokens of vocabularies that have none of their own."""

MAX_BYTES = 128 * 2**20
"""The tokenizer.json of Gemma 3 has 33 MB."""
MAX_SPELLING = 4096
"""Maximum length of a token: a short id must not become a long text."""
KEPT = 4
"""Number of tokenizers that stay in memory."""
ANYWHERE = os.sep
"""The root of a place that a person named: its links may lead anywhere."""

LFS_POINTER = b"version https://git-lfs"
KINDS = "a tokenizer.json, a tekken.json, a SentencePiece model, a tiktoken file"


def load(place: str | Path, *, download: bool = False) -> Tokenizer:
    """Load a tokenizer: a file, a folder that holds one, or a name in the local Hugging Face cache.

    With `download`, a name that is not in the cache is fetched: data files alone. Raises `UnreadablePath`.
    """
    path = os.path.abspath(os.path.expanduser(place))
    try:
        if is_file(path):
            return load_at(Location(path, ANYWHERE))
        if is_folder(path):
            return _load_folder(path)
        if os.path.lexists(path):
            raise UnreadablePath(f"{path} is neither a folder nor a regular file. Next: name {KINDS}")
    except ValueError as error:  # a null byte
        raise UnreadablePath(f"{place!r} is no path: {error}. Next: name {KINDS} or a folder that holds one") from None
    return load_named(str(place), download=download)


def load_named(name: str, *, download: bool = False) -> Tokenizer:
    """Load a tokenizer by the name of its model, as `load` does; a path is no such name. Raises `UnreadablePath`."""
    folder = cached_model(name) if is_model_name(name) else None
    if folder is None and download and is_model_name(name):
        folder = fetch_model(name, lambda names: [*_vocabularies(names)[:1], *({CONFIG} & {*names})], MAX_BYTES)
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
    return _loaded(location, _state(location), _state(_config_of(location)))


@lru_cache(maxsize=KEPT)
def load_unchanged(file: TokenizerFile) -> Tokenizer:
    """Load a tokenizer as it was when it was found. Raises `UnreadablePath` if its files changed since."""
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


def _config_of(location: Location) -> Location:
    return Location(os.path.join(os.path.dirname(location.path), CONFIG), location.root)


def _state(location: Location) -> tuple[int, int, int]:
    """Return what differs once a file has changed; zeros for a missing one."""
    try:
        state = file_state(location)
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=KEPT)
def _loaded(location: Location, *_states: tuple[int, int, int]) -> Tokenizer:
    try:
        data = _read(location)
        vocabulary, config = _vocabulary(data, location)
    except BadTokenizer as error:
        raise UnreadablePath(f"{location.path} cannot be read as a tokenizer: {error}. Next: name {KINDS}") from None
    digest = hashlib.blake2b(data + config, digest_size=16).hexdigest()
    return Tokenizer(TokenizerFile(path=location.path, root=location.root, digest=digest), vocabulary)


def _read(location: Location) -> bytes:
    try:
        with open_file(location) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadTokenizer(error.strerror or str(error)) from None
    if len(data) > MAX_BYTES:
        raise BadTokenizer(f"it is larger than {MAX_BYTES // 2**20} MiB")
    return data


def _vocabulary(data: bytes, location: Location) -> tuple[Vocabulary, bytes]:
    """Read a vocabulary as what its bytes say it is, and return the config that was read beside it."""
    if data.startswith(LFS_POINTER):
        raise BadTokenizer("it is a Git LFS pointer, the file itself is not downloaded")
    config = b""
    if data.lstrip()[:1] == b"{":
        vocabulary = read_tekken(data) if is_tekken(data) else read_tokenizer_json(data)
    else:
        read = read_ranks if RANK_LINE.match(data) else read_sentence_piece
        if _state(_config_of(location)) != (0, 0, 0):
            config = _read(_config_of(location))
        vocabulary = with_added_tokens(read(data), config)
    if max(map(len, vocabulary.spellings.values()), default=0) > MAX_SPELLING:
        raise BadTokenizer(f"it has a token of more than {MAX_SPELLING:,} characters")
    return vocabulary, config
