"""Routes for the cache of replies: its figures, and clearing it."""

from starlette.requests import Request
from starlette.responses import Response

from rolloupe import wire
from rolloupe.server.context import Context, context_of
from rolloupe.server.people import Runs


async def stats(request: Request) -> Response:
    """`GET /api/cache/stats`."""
    context = context_of(request)
    library = await context.runs(request)
    return await context.replies.fresh(request, lambda: figures(context, library))


async def clear(request: Request) -> Response:
    """`POST /api/cache/clear`: drops the replies in memory. The index on disk is not a cache of replies, and stays."""
    context = context_of(request)
    library = await context.runs(request)
    context.cache.clear()
    context.samples.clear()
    context.members.clear()
    context.updates.clear()
    return await context.replies.fresh(request, lambda: figures(context, library))


def figures(context: Context, library: Runs) -> wire.CacheStats:
    """Return the figures of the cache, and the size of the index."""
    stats = context.cache.figures()
    return wire.CacheStats(
        entries=stats.entries,
        limit_entries=context.cache.limit_entries,
        memory_bytes=stats.memory_bytes,
        limit_bytes=context.cache.limit_bytes,
        hits=stats.hits,
        misses=stats.misses,
        index_bytes=library.index_bytes(),
        index_dir=str(library.index_dir),
    )
