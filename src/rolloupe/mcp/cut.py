"""Makes values fit: long texts keep both ends, long lists and objects their beginning; each says what is missing."""

import json
import math
from collections.abc import Mapping
from typing import Any

from rolloupe.text.visible import visible

END_CHARS = 600
"""How many characters a long text keeps at either end."""

NAME_CHARS = 120
ENTRIES = 40
"""The most entries of a list or an object."""

SIZES = [(2 * END_CHARS >> halved, entries) for halved in range(9) for entries in (ENTRIES, ENTRIES // 2, ENTRIES // 4)]
"""The most characters of a text and entries of a list, from the whole to what always fits."""


def fitting(facts: Mapping[str, Any], room: int) -> str:
    """Return named facts as JSON of at most `room` bytes: all of them, with as little cut as that takes."""
    found = ""
    for chars, entries in SIZES:
        found = as_json({name: shortened(one, chars, entries) for name, one in facts.items()})
        if len(found.encode()) <= room:
            break
    return found


def shortened(value: Any, chars: int = 2 * END_CHARS, entries: int = ENTRIES) -> Any:
    """Return a value of JSON with texts of at most `chars` characters, and every control character visible."""
    if isinstance(value, str):
        return short_text(value, chars)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _short_object(value, chars, entries)
    if isinstance(value, list | tuple):
        more = [f"{len(value) - entries:,} more"] if len(value) > entries else []
        return [shortened(one, chars, entries) for one in value[:entries]] + more
    return value


def _short_object(value: Mapping[str, Any], chars: int, entries: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in list(value)[:entries]:
        found[short_text(str(name), min(chars, NAME_CHARS))] = shortened(value[name], chars, entries)
    missing = len(value) - len(found)
    return found | ({"left_out": missing} if missing else {})


def short_text(text: str, chars: int = 2 * END_CHARS) -> str:
    """Return a text with at most `chars` of its characters, from both ends, and every control character visible."""
    if len(text) <= chars:
        return visible(text)
    half = chars // 2
    return visible(f"{text[:half]} … [{len(text) - 2 * half:,} characters left out] … {text[-half:]}")


def _number(value: float) -> float | str:
    """A number with the digits that matter; one that JSON lacks by its name."""
    if math.isfinite(value):
        return float(f"{value:.6g}")
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
