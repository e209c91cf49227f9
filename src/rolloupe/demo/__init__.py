"""Small real runs that come with the package, for `rolloupe demo`. What each is and its licence: README.md here."""

import contextlib
import os
from pathlib import Path

RUNS = Path(__file__).parent / "runs"
"""A folder of runs: what `rolloupe demo` opens."""

FIRST = RUNS / "tiny_grpo"
"""The one to begin with."""

RECORDED_S = 1795288600
"""When they were recorded at the latest, in seconds since 1970."""


def dated() -> None:
    """Give the files the time of their runs, where they may be changed: in a new clone they are new, too."""
    for path in RUNS.rglob("*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime > RECORDED_S:
                os.utime(path, (RECORDED_S, RECORDED_S))
