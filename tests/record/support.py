"""Recorders that are strict, and runs read again."""

import json
from pathlib import Path
from typing import Any

import rolloupe
from rolloupe.record import Recorder


def recorder(path: Path, **more: Any) -> Recorder:
    """A recorder that raises what it would only tell."""
    return Recorder(path, **dict[str, Any](code=None, strict=True) | more)


def opened(path: Path) -> rolloupe.Run:
    """A run, read again."""
    return rolloupe.open(path, index_dir=path.parent / "index").runs[0]


def series(sample: rolloupe.Sample) -> dict[str, list[float]]:
    """The token series of a sample by name."""
    return {one.name: list(one.values) for one in sample.series}


def lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]
