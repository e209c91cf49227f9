"""Results as JSON and CSV. Numbers that JSON lacks become the strings NaN, Infinity and -Infinity."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rolloupe.cli.terminal import safe_json, tell
from rolloupe.text.visible import visible

if TYPE_CHECKING:
    from rolloupe.query import SampleItem


def tell_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows below a header."""
    from rolloupe.export import csv_lines

    for lines in csv_lines(names, rows):
        table = lines.decode().replace("\r\n", "\n").rstrip("\n")
        tell(visible(table) if sys.stdout.isatty() else table)


FIXED = (
    "id", "run", "split", "step", "group", "index", "reward", "advantage", "status", "discarded",
    "turns", "response_tokens",
)  # fmt: skip
"""The keys of every sample, in order; the tags and sample metrics follow under their own names."""

PREFIX = "metric."
"""Prefix for a sample metric that has the name of a fixed key."""


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Return a JSON document that is safe to print in a terminal."""
    return safe_json(json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent))


def plain(value: Any) -> Any:
    """Return a value with each float that JSON lacks replaced by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def sample_record(run_id: str, item: "SampleItem") -> dict[str, Any]:
    """Return a sample of a list as a record."""
    fixed = (
        item.id, run_id, item.split, item.step, item.group, item.index,
        item.reward, item.advantage, item.status, item.discarded or None,
        item.turns, item.response_tokens,
    )  # fmt: skip
    record: dict[str, Any] = dict(zip(FIXED, fixed, strict=True))
    record |= item.columns
    record |= {_free(name): value for name, value in (*item.tags.items(), *item.metrics.items())}
    return record | {f"derived.{name}": value for name, value in item.derived.items()}


def _free(name: str) -> str:
    """Return the key of a sample metric: its name, with a prefix if it would clash with a fixed key."""
    bare = name
    while bare.startswith(PREFIX):
        bare = bare[len(PREFIX) :]
    return PREFIX + name if bare in FIXED else name
