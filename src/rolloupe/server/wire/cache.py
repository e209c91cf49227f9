"""The cache of replies, and the index on disk."""

from msgspec import Struct


class CacheStats(Struct, kw_only=True):
    """`GET /api/cache/stats`; `POST /api/cache/clear` answers the same, after clearing."""

    entries: int
    limit_entries: int
    memory_bytes: int
    limit_bytes: int
    hits: int
    misses: int
    index_bytes: int
    """Size of the index on disk, all open runs together."""
    index_dir: str
