"""The records of the state, and their size limits."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey

T = TypeVar("T")

MAX_SETTING_CHARS = 32_000
MAX_NOTE_CHARS = 20_000
MAX_ID_CHARS = 4096
MAX_EXCERPT_CHARS = 240
TEXTS = {
    "name": ("the name of a run", 200), "note": ("a note", MAX_NOTE_CHARS),
    "uid": ("a uid", MAX_ID_CHARS), "excerpt": ("an excerpt", MAX_EXCERPT_CHARS),
}  # fmt: skip
"""The texts of marks, by field: what they are called, and the most characters."""

MOST_VERSION = 2**53
"""A browser counts exactly up to here. An item with a greater version, or with a text as its version, is foreign."""

NEWEST = f"SELECT coalesce(max(version), 0) FROM items WHERE version < {MOST_VERSION}"

COLOURS = 10
"""The colours of runs are numbered from 1; 0 leaves the choice to the page."""


class RunMark(Struct, frozen=True, kw_only=True):
    """A person's name, colour and note for a run. An empty name keeps the run's own."""

    name: str = ""
    colour: int = 0
    hidden: bool = False
    note: str = ""


JUDGEMENTS = ("good", "bad")


class SampleMark(Struct, frozen=True, kw_only=True, gc=False):
    """A person's bookmark, note and judgement on a sample, and what identifies the sample if its id changes."""

    bookmarked: bool = False
    note: str = ""
    judgement: str = ""
    """`good`, `bad`, or empty."""
    uid: str = ""
    excerpt: str = ""
    """Start of its response, for lists while the run is missing."""


Value: TypeAlias = RunMark | SampleMark | dict[str, Any]
KINDS: dict[str, type[Any]] = {"run": RunMark, "sample": SampleMark, "layout": dict, "setting": dict}


class Mark(Struct, frozen=True, kw_only=True, gc=False):
    """One thing that a person added. Each change of anything gets a new, higher `version`."""

    kind: str
    """`run`, `sample`, `layout` or `setting`."""
    owner: str
    """The key of its run; empty for a setting."""
    name: str
    """The id of the sample, the name of the setting, the page of the layout; empty for a run."""
    value: Value | None
    """None if it was removed."""
    version: int
    changed_s: float
    """Seconds since the epoch."""
    person: str = ""
    """The member of a team who added it; empty for the owner of the file."""
    shared: bool = False
    """True if the team may see it."""


class Owner(NamedTuple):
    """A run with marks: its name and place when it was last seen."""

    key: str
    format: str
    name: str
    path: str


class Change(Struct, frozen=True, kw_only=True):
    """A requested change: `seen` is the version of the item that the person saw, 0 for none."""

    kind: str
    name: str
    value: Value | None
    seen: int
    shared: bool = False
    """Changes what the team sees. A shared item is separate from the person's private one of the same name."""
    by: str = ""
    """The other person whose shared item to remove; the caller checks that this is allowed."""


class Written(NamedTuple):
    """The current item after a change; with `is_conflict`, another change came first and this one is not stored."""

    item: Mark
    is_conflict: bool


def check(change: Change, person: str = "") -> None:
    """Raise `BadQuery` for a change that this person cannot store: of an unknown kind, too long, or out of range."""
    if change.shared and (not person or change.kind == "setting"):
        raise BadQuery("only a team's server shares marks and layouts; settings are never shared")
    if change.by not in ("", person) and not (change.shared and change.value is None):
        raise BadQuery("another person's shared items can only be removed")
    kind = KINDS.get(change.kind)
    if kind is None or not (change.value is None or isinstance(change.value, kind)):
        raise BadQuery(f"{change.kind!r} is not a kind of item; use one of {', '.join(KINDS)}, with its own value")
    if len(change.name) > MAX_ID_CHARS or "\0" in change.name or (change.kind == "run") != (change.name == ""):
        raise BadQuery("a sample is named by its id, a setting by a name, a layout by its page, a run by nothing")
    if isinstance(change.value, RunMark) and not 0 <= change.value.colour <= COLOURS:
        raise BadQuery(f"the colour of a run is a number from 0 to {COLOURS}")
    if isinstance(change.value, SampleMark) and change.value.judgement not in ("", *JUDGEMENTS):
        raise BadQuery(f"a judgement is {' or '.join(JUDGEMENTS)}, or empty for none")
    for field, (what, most) in TEXTS.items():
        if (count := len(getattr(change.value, field, ""))) > most:
            raise BadQuery(f"{what} may have {most:,} characters, and this has {count:,}: shorten it")


class LocatedMark(Struct, frozen=True, gc=False):
    """A mark on a sample. The name of `item` is the id that the sample had when it was marked."""

    item: Mark
    mark: SampleMark
    key: SampleKey | None
    """None if the name is not an id; a page never writes such a name."""

    @property
    def is_bookmark(self) -> bool:
        """True for a bookmark or a note; False for a judgement alone."""
        return self.mark.bookmarked or self.mark.note != ""


def marks_of(items: Sequence[Mark]) -> list[LocatedMark]:
    """Return the marks among some items."""
    marks = []
    for item in items:
        if isinstance(item.value, SampleMark):
            key = None
            with contextlib.suppress(ValueError):
                key = SampleKey.parse(item.name)
            marks.append(LocatedMark(item, item.value, key))
    return marks


def located_samples(
    marks: Sequence[LocatedMark],
    named: Callable[[Sequence[SampleKey]], Mapping[SampleKey, T]],
    by_uid: Callable[[Sequence[str]], Mapping[str, T]],
) -> list[tuple[LocatedMark, T | None]]:
    """Return each mark with its sample, looked up by id and then by uid; None if the run no longer has it."""
    by_id = named([mark.key for mark in marks if mark.key is not None])
    uids = [mark.mark.uid for mark in marks if mark.mark.uid and mark.key not in by_id]
    moved = by_uid(uids) if uids else {}
    return [
        (mark, by_id[mark.key] if mark.key is not None and mark.key in by_id else moved.get(mark.mark.uid))
        for mark in marks
    ]
