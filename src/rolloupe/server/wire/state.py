"""What a person adds: names, colours, bookmarks, notes, settings."""

from typing import Any

from msgspec import Struct

from rolloupe.server.wire.lists import SampleItemView


class RunMarkView(Struct, kw_only=True):
    """What a person says of a run. An empty name leaves it its own; `colour` is 1 to 10, 0 leaves it to the page."""

    name: str = ""
    colour: int = 0
    hidden: bool = False
    note: str = ""


class SampleMarkView(Struct, kw_only=True):
    """What a person says of a sample. `uid` and `excerpt` are filled in by the server, whatever was sent."""

    bookmarked: bool = False
    note: str = ""
    uid: str = ""
    excerpt: str = ""
    """How its response begins."""


class StateItem(Struct, kw_only=True):
    """One thing that a person added. Where it was removed, it holds neither mark nor setting."""

    kind: str
    """`run`, `sample` or `setting`."""
    owner: str
    """The key of the run that it is about; empty for a setting."""
    name: str
    """The id of the sample, the name of the setting; empty for a run."""
    version: int
    changed_s: float
    """Seconds since the epoch."""
    run_mark: RunMarkView | None = None
    sample_mark: SampleMarkView | None = None
    setting: Any = None


class StateOwner(Struct, kw_only=True):
    """A run that something was said of; `run` is its id here, empty where it is not open."""

    owner: str
    run: str
    name: str
    format: str
    path: str


class StateReply(Struct, kw_only=True):
    """`GET /api/state?since=`: what a person added; with `since` what has changed after that version.

    Of much it is a part, up to `version`; where `more` is true, the rest is had since that.
    """

    version: int
    more: bool
    items: list[StateItem]
    owners: list[StateOwner]
    place: str
    """The file that it is kept in."""
    trouble: str
    """Why that file cannot be used, so that changes are refused until it can; empty where it can."""


class StateChange(Struct, kw_only=True):
    """`POST /api/state`: answers the `StateItem` as it is now, or with 409 a `ConflictReply`.

    The run is named by its id or, where it is not open, by `owner`. With neither mark nor setting the item is removed.
    """

    kind: str
    seen: int
    """The version of the item as the person saw it, 0 for none."""
    run: str = ""
    owner: str = ""
    name: str = ""
    run_mark: RunMarkView | None = None
    sample_mark: SampleMarkView | None = None
    setting: Any = None


class ConflictReply(Struct, kw_only=True):
    """The answer to a change that another one preceded, with the item as that left it."""

    error: str
    next: str
    item: StateItem


class MarkedSample(Struct, kw_only=True):
    """A sample that a person marked. `name` is the id under which that was done."""

    name: str
    sample: SampleItemView | None
    """As the run has it now, found by its id, else by its uid; null where it is there no longer."""


class MarkedReply(Struct, kw_only=True):
    """`GET /api/runs/{run}/marked?before=`: the samples of a run that a person marked, those marked last first."""

    run: str
    samples: list[MarkedSample]
    before: int
    """With this, older ones are asked for; 0 where there are none."""
