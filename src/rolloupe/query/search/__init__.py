"""Text and patterns looked for in prompts and responses: a stream of hits, and the places within one sample."""

from rolloupe.query.search.pattern import ROLES, Pattern, TextQuery
from rolloupe.query.search.roles import Marked, marked
from rolloupe.query.search.searching import Found, Hit, Progress, search
from rolloupe.query.search.snippets import Snippet

__all__ = ["ROLES", "Found", "Hit", "Marked", "Pattern", "Progress", "Snippet", "TextQuery", "marked", "search"]
