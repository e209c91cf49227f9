"""The tokenizer of a prime-rl run: saved with it, or named in its configuration.

Source: `entrypoints/rl.py` of prime-rl, which writes `configs/`, as TOML until August 2026 and as JSON since.
"""

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from rolloupe.formats.prime_rl.episodes import as_dict
from rolloupe.formats.reading.files import files, links_of
from rolloupe.formats.reading.trainer_files import read_bytes
from rolloupe.model import Location, RunInfo
from rolloupe.storage import is_below
from rolloupe.tokenizer import find_tokenizer

EXPORTS = "token_exports"
CONFIGS = ("trainer", "orchestrator", "rl")
MAX_CONFIG_BYTES = 2**20


def tokenizers_of(run: RunInfo) -> list[Location | str]:
    """Return the tokenizer files of a run, and the names that its configuration gives."""
    links = links_of(run)
    parts = run.root.split(os.sep)
    folder = os.sep.join(parts[: parts.index(EXPORTS)]) if EXPORTS in parts else run.root
    if not is_below(folder, links):
        return []
    found = [find_tokenizer(Location(place, links)) for place in (folder, os.path.join(folder, "tokenizer"))]
    names = dict.fromkeys(_names(os.path.join(folder, "configs"), links))
    return [*filter(None, found), *names]


def _names(folder: str, links: str) -> Iterator[str]:
    """Yield the tokenizers that configurations name; without one the model's own is used."""
    configs = {one.name: one.location for one in files(folder, links, (".json", ".toml"))}
    for name in CONFIGS:
        for ending, parse in ((".json", msgspec.json.decode), (".toml", _toml)):
            try:
                config = as_dict(parse(read_bytes(configs.get(name + ending), MAX_CONFIG_BYTES)))
            except (ValueError, RecursionError):
                continue
            for part in (config, as_dict(config.get("trainer")), as_dict(config.get("orchestrator"))):
                chosen = as_dict(part.get("tokenizer")).get("name") or as_dict(part.get("model")).get("name")
                if isinstance(chosen, str):
                    yield chosen


def _toml(data: bytes) -> Any:
    import tomllib

    return tomllib.loads(data.decode())
