"""Answers as JSON. What JSON has no number for is written as the strings "NaN", "Infinity" and "-Infinity"."""

import json
import math
from typing import TYPE_CHECKING, Any

from rolloupe.cli.terminal import safe_json

if TYPE_CHECKING:
    from rolloupe.query import SampleItem

FIXED = (
    "id", "run", "split", "step", "group", "index", "reward", "advantage", "status", "discarded",
    "turns", "response_tokens",
)  # fmt: skip
"""The keys of every sample, in order; the sample metrics follow under their own names."""

PREFIX = "metric."
"""Before the name of a sample metric that is called like a fixed key."""


def dumps(value: Any, *, indent: int | None = None) -> str:
    """A JSON document on which a terminal can do no harm."""
    return safe_json(json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent))


def plain(value: Any) -> Any:
    """The value with each float that JSON cannot carry as its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def sample_record(run_id: str, item: "SampleItem") -> dict[str, Any]:
    """A sample of a list."""
    key = item.key
    fixed = (
        str(key), run_id, key.split, key.step, key.group, key.index,
        item.reward, item.advantage, item.status, item.discarded or None,
        item.turns, item.response_tokens,
    )  # fmt: skip
    record: dict[str, Any] = dict(zip(FIXED, fixed, strict=True))
    for name, value in item.metrics.items():
        record[_free(name)] = value
    return record


def _free(name: str) -> str:
    """The key of a sample metric: its name, but for one that is, after any prefixes, a fixed key."""
    bare = name
    while bare.startswith(PREFIX):
        bare = bare[len(PREFIX) :]
    return PREFIX + name if bare in FIXED else name
