"""A person's own data: names, colours, bookmarks, notes, settings."""

from typing import Any

from msgspec import Struct

from rolloupe.query import SampleItem
from rolloupe.state import RunMark, SampleMark


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
    """Who of a team added it; empty without a team."""
    shared: bool = False
    """True if the team may see it."""


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
    """What the person and others of the team share; empty without a team."""
    user: str
    """Who the person is; empty without a team."""
    role: str
    """`reader`, who may change nothing, `writer` or `admin`; `admin` without a team."""
    logout: str
    """The address that ends the person's login; empty where the server has none."""
    owners: list[StateOwner]
    place: str
    """The file that stores it."""
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
    """Whose shared item an admin removes."""


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

    run: str
    samples: list[MarkedSample]
    before: int
    """The value of `before` for older ones; 0 if none are left."""
