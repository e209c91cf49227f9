"""Searches of prompts and responses."""

from msgspec import Struct

from rolloupe.query.search import Snippet, TextQuery
from rolloupe.wire.records.numbers import Number
from rolloupe.wire.records.texts import Span


class SearchRequest(Struct, kw_only=True):
    """`POST /api/search`: the answer is one `SearchEvent` on each line until the search is over.

    A tab has one search at a time: a new one ends the previous one. Closing the connection also ends it.
    """

    tab: str
    """A name that the tab generates for itself."""
    search: TextQuery
    runs: list[str] = []
    """Empty: all open runs."""
    split: str = ""
    """Empty: all."""
    step_min: int | None = None
    step_max: int | None = None
    where: str = ""
    oldest_first: bool = False
    """Start with the oldest steps, instead of the newest."""


class SearchHit(Struct, kw_only=True):
    """A sample that contains the text."""

    run: str
    id: str
    split: str
    step: int
    group: str
    index: str
    reward: Number
    status: str
    discarded: str
    """Why it was discarded; empty if it was not."""
    snippets: list[Snippet]
    more: bool
    """True if it has more hits than the snippets show."""


class TranscriptHit(Struct, kw_only=True):
    """A conversation that contains the text: a trainer logged it for a step, and no sample shows it."""

    run: str
    split: str
    step: int
    title: str
    """The titles of the sections that contain it."""
    at: str
    """Its path in the step's report: child numbers, `0.3.1`."""
    snippets: list[Snippet]
    more: bool
    """True if it has more hits than the snippets show."""


class StepFound(Struct, kw_only=True):
    """The number of matching samples of one step of a split."""

    split: str
    step: int
    found: int


class SearchEvent(Struct, kw_only=True):
    """A line of `POST /api/search`: new hits, and the progress of the search."""

    search: str
    """The name of the search for `GET /api/search/hits`."""
    kind: str
    """`progress`, `waiting` (for other searches), `over`, `stopped` (a new one replaced it), or `failed`."""
    hits: list[SearchHit]
    """The first hits, as they are found; request later ones separately."""
    found: int
    """Number of matching samples."""
    found_by_run: dict[str, int]
    """The same by run, for runs with matches."""
    found_since: list[StepFound]
    """By step, if the search covers one run: new matches since the last event."""
    listed: int
    """Number of hits that can be requested."""
    transcripts: list[TranscriptHit]
    """The first conversations of reports, as they are found: after all samples."""
    transcripts_found: int
    """Number of matching conversations."""
    reports: int
    """Searched reports, of `known_reports`, which is 0 until the reports' turn."""
    known_reports: int
    samples: int
    known_samples: int
    searched_bytes: int
    """Searched bytes of the files, of `known_bytes`: the indexed bytes of the steps in scope."""
    known_bytes: int
    from_sources: int
    """Samples whose texts were read from the files, because the index lacks them."""
    notes: list[str]
    """Which runs or places were not searched, and why."""
    indexing: list[str]
    """Runs with pending indexing: the search does not cover new samples."""


class SearchHitsReply(Struct, kw_only=True):
    """`GET /api/search/hits?search=&offset=&limit=`."""

    search: str
    offset: int
    hits: list[SearchHit]


class SpansRequest(Struct, kw_only=True):
    """`POST /api/runs/{run}/sample/spans`."""

    id: str
    search: TextQuery


class SpansReply(Struct, kw_only=True):
    """The places of the text in a sample, in order."""

    id: str
    spans: list[Span]
    more: bool
    """True if not all places are listed."""
