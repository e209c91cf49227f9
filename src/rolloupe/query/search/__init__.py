"""Search for text and patterns in prompts and responses: a stream of hits, and the places within one sample."""

from rolloupe.query.search.pattern import Pattern, TextQuery, utf16_length
from rolloupe.query.search.roles import MAX_SPANS, FoundRow, RolePlace, Snippet, Transcript, marked, places_in, speaks
from rolloupe.query.search.run_search import Found, Hit, Search, SearchOptions, SearchProgress, search

__all__ = [
    "MAX_SPANS",
    "Found",
    "FoundRow",
    "Hit",
    "Pattern",
    "RolePlace",
    "Search",
    "SearchOptions",
    "SearchProgress",
    "Snippet",
    "TextQuery",
    "Transcript",
    "marked",
    "places_in",
    "search",
    "speaks",
    "utf16_length",
]  # fmt: skip
