"""What every failed request gets. It imports nothing else, so that the first answers need not wait."""

from msgspec import Struct


class ErrorReply(Struct, kw_only=True, omit_defaults=True):
    """Every answer with a status of 400 or above: what failed, and what to do next."""

    error: str
    next: str
    place: int | None = None
    """Where a filter could not be parsed, in characters from 0."""
