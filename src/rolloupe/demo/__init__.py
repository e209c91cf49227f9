"""Small bundled runs for `rolloupe demo`. README.md here describes each one and its licence."""

import contextlib
import os
from pathlib import Path

RUNS = Path(__file__).parent / "runs"
"""The folder of runs that `rolloupe demo` opens."""

FIRST = RUNS / "tiny_grpo"
"""The run to begin with."""

RECORDED_S = 1795288600
"""An upper bound of their recording time, in seconds since 1970."""


def dated() -> None:
    """Give the files the time of their runs, if permitted: in a new clone all files are new."""
    for path in RUNS.rglob("*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime > RECORDED_S:
                os.utime(path, (RECORDED_S, RECORDED_S))
