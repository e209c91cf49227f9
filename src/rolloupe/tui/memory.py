"""Keeps the process small: memory that nobody uses any more goes back to the system."""

import ctypes
import os
import sys

ARENAS = (-8, 2)
TRIM_BYTES = (-1, 2**20)
MAP_BYTES = (-3, 2**18)
"""Settings of glibc's `mallopt`, and values. By default each thread has an arena, which keeps what it once took."""

DUCKDB = "DUCKDB_JE_MALLOC_CONF", "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0"
"""The same for the allocator that DuckDB brings along, which reads it once, as DuckDB is loaded: 30 MB less."""


ARROW = "ARROW_DEFAULT_MEMORY_POOL", "system"
"""Arrow takes its memory where all else does, in its own threads too: it reads this once, as it is loaded."""


def keep_memory_small() -> None:
    """Take memory from few places and give it back early. Call it before anything large is imported."""
    os.environ.setdefault(*ARROW)
    if sys.platform != "linux":
        return
    os.environ.setdefault(*DUCKDB)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # other C libraries have no arenas
        for setting in (ARENAS, TRIM_BYTES, MAP_BYTES):
            libc.mallopt(*setting)
