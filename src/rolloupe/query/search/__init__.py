"""Search for text and patterns in prompts and responses: a stream of hits, and the places within one sample."""

from rolloupe.query.search.pattern import Pattern, TextQuery, utf16_length
from rolloupe.query.search.roles import MAX_SPANS, RolePlace, Snippet, marked, places_in, speaks
from rolloupe.query.search.run_search import Found, Hit, Search, SearchOptions, SearchProgress
from rolloupe.query.search.worker import FoundRow, Transcript
