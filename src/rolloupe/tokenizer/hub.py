"""Tokenizers by the name of their model: in the local Hugging Face cache, or fetched into it where a person asks."""

import os
import re
from collections.abc import Callable

from rolloupe.errors import UnreadablePath, words_of
from rolloupe.model import Location
from rolloupe.storage import folder_entries, is_folder, open_file

_PART = r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.)){0,95}"
_NAME = re.compile(rf"{_PART}(?:/{_PART})?")
_COMMIT = re.compile(rb"[0-9a-f]{40}")
MAX_SNAPSHOTS = 1_000


def is_name(text: str) -> bool:
    """Tell whether a text may be the name of a model, such as `Qwen/Qwen3-4B`."""
    return _NAME.fullmatch(text) is not None and "--" not in text


def cached(name: str) -> str | None:
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


def fetched(name: str, choose: Callable[[list[str]], list[str]], max_bytes: int) -> str:
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
