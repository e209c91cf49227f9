"""Texts looked for in prompts and responses."""

from msgspec import Struct

from rolloupe.server.wire.numbers import Number
from rolloupe.server.wire.texts import Span


class TextSearch(Struct, kw_only=True):
    """What is looked for; `roles` of `prompt`, `response`, `system`, `user`, `assistant`, `tool`, or none for all."""

    text: str
    regex: bool = False
    case: bool = False
    """True where capitals and small letters differ."""
    word: bool = False
    roles: list[str] = []


class SearchRequest(Struct, kw_only=True):
    """`POST /api/search`: answers a `SearchEvent` a line until the search is over.

    A tab has one search at a time: a new one ends the one before. Closing the connection ends it, too.
    """

    tab: str
    """A word that the tab has made up for itself."""
    search: TextSearch
    runs: list[str] = []
    """Empty: all that are open."""
    split: str = ""
    """Empty: all."""
    step_min: int | None = None
    step_max: int | None = None
    where: str = ""
    oldest_first: bool = False
    """The hits of old steps first, in place of the newest."""


class SnippetView(Struct, kw_only=True):
    """A piece of a text: `pieces` are in turn context and hit; the first and the last are context, perhaps empty."""

    role: str
    pieces: list[str]
    is_start: bool
    """True where the text begins with it."""
    is_end: bool


class SearchHit(Struct, kw_only=True):
    """A sample in which something was found."""

    run: str
    id: str
    split: str
    step: int
    group: str
    index: str
    reward: Number
    status: str
    discarded: str
    """Why it was not trained on; empty where it was."""
    snippets: list[SnippetView]
    more: bool
    """True where there is more in it than the snippets show."""


class TranscriptHit(Struct, kw_only=True):
    """A conversation that a trainer logged for a step, that no sample shows, and in which something was found."""

    run: str
    split: str
    step: int
    title: str
    """Those of the sections that it stands in."""
    at: str
    """Where in the report of the step it stands: the numbers of the children that lead there, `0.3.1`."""
    snippets: list[SnippetView]
    more: bool
    """True where there is more in it than the snippets show."""


class StepFound(Struct, kw_only=True):
    """Samples in which something was found, of one step of a split."""

    split: str
    step: int
    found: int


class SearchEvent(Struct, kw_only=True):
    """A line of `POST /api/search`: what was found since, and how far the search has come."""

    search: str
    """Names the search, for `GET /api/search/hits`."""
    kind: str
    """`progress`, `waiting` (others are searching), `over`, `stopped` (another one took its place), or `failed`."""
    hits: list[SearchHit]
    """The first hits, as they are found; later ones are asked for."""
    found: int
    """Samples in which something was found."""
    found_by_run: dict[str, int]
    """The same by run, of those that have some."""
    found_since: list[StepFound]
    """By step, where one run is searched: those found since the last event."""
    listed: int
    """So many of them can be asked for."""
    transcripts: list[TranscriptHit]
    """The first conversations of reports, as they are found: behind all samples."""
    transcripts_found: int
    """All there are."""
    reports: int
    """Reports that were searched, of `known_reports`, which is 0 before it is their turn."""
    known_reports: int
    samples: int
    known_samples: int
    searched_bytes: int
    """Of the files, as `known_bytes`, which are those that are indexed and of the steps in question."""
    known_bytes: int
    from_sources: int
    """Samples whose texts were read from the files, since the index has none of them."""
    notes: list[str]
    """What could not be searched, and why."""
    indexing: list[str]
    """Runs of which more is being indexed: what comes is not searched."""


class SearchHitsReply(Struct, kw_only=True):
    """`GET /api/search/hits?search=&offset=&limit=`."""

    search: str
    offset: int
    hits: list[SearchHit]


class SpansRequest(Struct, kw_only=True):
    """`POST /api/runs/{run}/sample/spans`."""

    id: str
    search: TextSearch


class SpansReply(Struct, kw_only=True):
    """Where in a sample it stands, in order."""

    id: str
    spans: list[Span]
    more: bool
    """True where there is more than is listed."""
