"""The settings of a YAML file, as far as Hydra and `yaml.dump` write them: each line a key, nested by its indentation.

Anchors, tags, flow collections and texts of many lines are no settings and stay texts; items of lists are left out.
Each line is read once, so a file costs what it has bytes.
"""

import json
import re
from typing import Any

MAX_DEPTH = 32
_ENTRY = re.compile(r"(?P<indent> *)(?P<key>[^\s#'\"\-\[{][^:]*):(?: +(?P<value>.*?))?\s*")
_WORDS = {"null": None, "~": None, "true": True, "false": False, "": None}
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)


def plain_yaml(text: str) -> dict[str, Any]:
    """Return the settings in a text, nested as its lines are indented."""
    settings: dict[str, Any] = {}
    open_levels: list[tuple[int, dict[str, Any]]] = [(-1, settings)]
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            continue
        indent = len(entry["indent"])
        while open_levels[-1][0] >= indent:
            open_levels.pop()
        value = entry["value"]
        inner: dict[str, Any] = {}
        is_level = not value and len(open_levels) < MAX_DEPTH
        open_levels[-1][1][entry["key"]] = inner if is_level else _scalar(value or "")
        if is_level:
            open_levels.append((indent, inner))
    return settings


def _scalar(text: str) -> Any:
    text = text.partition(" #")[0].strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return json.loads(text) if text.lstrip("-").isdecimal() and len(text) < 16 else float(text)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
