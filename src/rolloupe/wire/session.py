"""Searches, a person's own data, and the session of a browser."""

from typing import Any

from msgspec import Struct

from rolloupe.query import SampleItem
from rolloupe.query.search import Snippet, TextQuery
from rolloupe.state.records import RunMark, SampleMark
from rolloupe.wire.encoding import Number
from rolloupe.wire.runs import RunItem
from rolloupe.wire.samples import Span


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


class TextHit(Struct, kw_only=True):
    """A text that contains the searched one."""

    run: str
    split: str
    step: int
    snippets: list[Snippet]
    more: bool
    """True if it has more hits than the snippets show."""


class SearchHit(TextHit, kw_only=True):
    """A sample that contains the text."""

    id: str
    group: str
    index: str
    reward: Number
    status: str
    discarded: str
    """Why it was discarded; empty if it was not."""


class TranscriptHit(TextHit, kw_only=True):
    """A conversation that contains the text: a trainer logged it for a step, and no sample shows it."""

    title: str
    """The titles of the sections that contain it."""
    at: str
    """Its path in the step's report: child numbers, `0.3.1`."""


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
    found_by_run: dict[str, int]
    """The same by run, for runs with matches."""
    found_since: list[StepFound]
    """By step, if the search covers one run: new matches since the last event."""
    listed: int
    transcripts: list[TranscriptHit]
    """The first conversations of reports, which are searched after all samples."""
    transcripts_found: int
    reports: int
    """Searched reports, of `known_reports`, which is 0 until all samples are searched."""
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
    """Runs that are being indexed: the search does not cover their new samples."""


class SearchHitsReply(Struct, kw_only=True):
    """`GET /api/search/hits?search=&offset=&limit=`."""

    hits: list[SearchHit]


class SpansRequest(Struct, kw_only=True):
    """`POST /api/runs/{run}/sample/spans`."""

    id: str
    search: TextQuery


class SpansReply(Struct, kw_only=True):
    """The places of the text in a sample, in order."""

    spans: list[Span]
    more: bool
    """True if not all places are listed."""


class StateItem(Struct, kw_only=True):
    """One item of a person's own data. A removed item has neither mark nor setting."""

    kind: str
    """`run`, `sample`, `layout` or `setting`."""
    owner: str
    """The key of its run; empty for a setting."""
    name: str
    """The id of the sample, the page of the layout or the name of the setting; empty for a run."""
    version: int
    changed_s: float
    """Seconds since the epoch."""
    run_mark: RunMark | None = None
    sample_mark: SampleMark | None = None
    setting: Any = None
    by: str = ""
    """The person who added it; empty without a team."""
    shared: bool = False


class StateOwner(Struct, kw_only=True):
    """A run that a person marked; `run` is its id in this server, empty if it is not open."""

    owner: str
    run: str
    name: str
    format: str
    path: str


class StateReply(Struct, kw_only=True):
    """`GET /api/state?since=`: a person's own data; with `since`, the changes after that version.

    A large state comes in parts: this one reaches up to `version`; if `more` is true, request the rest since then.
    """

    version: int
    more: bool
    items: list[StateItem]
    """The person's private items."""
    shared: list[StateItem]
    """Items that the person and others of the team share; empty without a team."""
    user: str
    """The name of the person; empty without a team."""
    role: str
    """`reader`, who may change nothing, `writer` or `admin`; `admin` without a team."""
    logout: str
    """The address that ends the person's login; empty where the server has none."""
    owners: list[StateOwner]
    place: str
    trouble: str
    """Why that file cannot be used, so that changes are refused for now; empty if it can."""


class StateChange(Struct, kw_only=True):
    """`POST /api/state`: the answer is the current `StateItem`, or with 409 a `ConflictReply`.

    The id names the run or, if it is not open, `owner` does. With neither mark nor setting, the item is removed.
    """

    kind: str
    seen: int
    """The version of the item that the person saw, 0 for a new one."""
    run: str = ""
    owner: str = ""
    name: str = ""
    run_mark: RunMark | None = None
    sample_mark: SampleMark | None = None
    setting: Any = None
    shared: bool = False
    """True to change what the team sees, separate from a private item of the same name."""
    by: str = ""
    """The person whose shared item an admin removes."""


class ConflictReply(Struct, kw_only=True):
    """The answer if another change came first, with the item after that change."""

    error: str
    next: str
    item: StateItem


class MarkedSample(Struct, kw_only=True):
    """A sample that a person marked. `name` is its id at that time."""

    name: str
    sample: SampleItem | None
    """The run's current sample, found by id, else by uid; null if the run no longer has it."""


class MarkedReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/marked?before=`: the samples of a run that a person marked, last marked first."""

    samples: list[MarkedSample]
    before: int
    """The value of `before` for older ones; 0 if none are left."""


class LoginRequest(Struct, kw_only=True):
    """`POST /api/login`: exchanges the token for a session: a cookie, and the key of the page."""

    token: str


class LoginReply(Struct, kw_only=True):
    """The answer to `POST /api/login`."""

    key: str
    """The page sends it with each request as `X-Rolloupe-Key`: the cookie alone opens nothing."""


class TicketRequest(Struct, kw_only=True):
    """`POST /api/ticket`: asks for a ticket for one address, from `/api/` on."""

    address: str


class TicketReply(Struct, kw_only=True):
    """The answer to `POST /api/ticket`."""

    ticket: str
    """Appended to the address as `ticket=`, it stands for the page key: once, and within a minute."""


class Event(Struct, kw_only=True):
    """A message of `GET /api/events` (server-sent events, `data:` is this as JSON).

    `kind`: `run` (a run changed: `run` holds it as in the list), `runs` (a run appeared or disappeared: request the
    list), `state` (a person's own data changed: request it) or `hello` (the stream is open).
    """

    kind: str
    run: RunItem | None = None


class CacheStats(Struct, kw_only=True):
    """`GET /api/cache/stats`; `POST /api/cache/clear` returns the same, after clearing."""

    entries: int
    limit_entries: int
    memory_bytes: int
    limit_bytes: int
    hits: int
    misses: int
    index_bytes: int
    """Size of the index on disk, for all open runs."""
    index_dir: str
