"""What a person adds: names, colours and notes of runs, bookmarks, notes and judgements on samples, layouts, settings.

`State` keeps it in one small SQLite database in the user's data directory. The index, which may be deleted at any time,
is separate, and looking at a run never needs the state. A change names the version of the item that the person saw. If
that is no longer the newest, nothing is written and the result is the item as another tab or viewer left it. A change
that cannot be written to the file raises.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import platformdirs

from rolloupe import text
from rolloupe.errors import BadQuery
from rolloupe.index import OpenRun
from rolloupe.state import records
from rolloupe.state.run_identity import Identity, identity_of

if TYPE_CHECKING:
    from rolloupe.state.file import StateFile
    from rolloupe.state.postgres import PostgresState

NAME = "state.sqlite"
MAX_ITEMS = 100_000
"""For each person."""

ROW_CHARS = 200
"""Approximate size of an item besides its value."""

ITEM = "kind, owner, name, value, version, changed_s, person, shared"

PUT_ITEM = f"""
    INSERT INTO items ({ITEM}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (kind, owner, name, person, shared)
    DO UPDATE SET value = excluded.value, version = excluded.version, changed_s = excluded.changed_s
"""

OWN = f"version < {records.MOST_VERSION}"
"""Selects the items that this program wrote; a change replaces others of the same name."""

VISIBLE = f"({OWN} AND (person = ? OR (shared = 1 AND ? <> '')))"
"""Selects the items that a person of a team may see. The owner of a file has no name, and sees none of a team."""

DECODERS = {kind: msgspec.json.Decoder(value) for kind, value in records.KINDS.items()}


def default_folder() -> Path:
    """The user's folder for data that programs must not lose."""
    return Path(os.environ.get("ROLLOUPE_STATE_DIR") or platformdirs.user_data_dir("rolloupe", appauthor=False))


class ItemPage(NamedTuple):
    """Items, and the version up to which, or down to which, they are complete; `more` if others may follow."""

    version: int
    items: list[records.Mark]
    more: bool = False


class State:
    """The state in a folder, by default the user's data directory, as one person sees it. Safe to use from threads.

    `person` is the name of one of a team, whose members see their own items and those that others share. Without a name
    it is the owner of the file.
    """

    def __init__(
        self, folder: Path | str | None = None, *, person: str = "", file: "StateFile | PostgresState | None" = None
    ) -> None:
        from rolloupe.state.file import StateFile

        self.person = person
        self.file = file or StateFile((Path(folder).expanduser() if folder else default_folder()) / NAME)

    @classmethod
    def is_there(cls, folder: Path | str | None = None) -> bool:
        """True if the folder has ever stored anything."""
        return ((Path(folder).expanduser() if folder else default_folder()) / NAME).is_file()

    def seen_by(self, person: str) -> Self:
        """Return the same state as another person sees it."""
        return type(self)(person=person, file=self.file)

    @classmethod
    def at(cls, place: str | None) -> Self:
        """Return the state in a folder, or in the database of PostgreSQL at an address."""
        if place is None or not place.startswith(("postgresql:", "postgres:")):
            return cls(place)
        from rolloupe.state.postgres import PostgresState

        return cls(file=PostgresState(place))

    def close(self) -> None:
        """Close the file, for everybody."""
        self.file.close()

    # Reading

    def items(self, since: int = 0, limit_chars: int | None = None) -> ItemPage:
        """All items; with `since`, those changed after that version, removed ones included.

        A limit bounds the characters, but not the first item; the remaining items follow the returned version.
        """
        removed = "" if since else "AND value IS NOT NULL"
        sql = f"SELECT {ITEM} FROM items WHERE version > ? AND {VISIBLE} {removed} ORDER BY version"

        def read() -> ItemPage:
            rows, room = [], limit_chars
            with contextlib.closing(self.file.execute(sql, (since, self.person, self.person))) as cursor:
                for row in cursor:
                    rows.append(row)
                    room = None if room is None else room - ROW_CHARS - len(row[3] or "")
                    if room is not None and room < 0:
                        return ItemPage(row[4], _items(rows), more=True)
            ((newest,),) = self.file.all(records.NEWEST)
            return ItemPage(newest, _items(rows))

        return self.file.read(read)

    def of(self, owner: str, kind: str = "sample") -> list[records.Mark]:
        """The marks on a run's samples, the newest last."""
        sql = f"""
            SELECT {ITEM} FROM items WHERE owner = ? AND kind = ? AND value IS NOT NULL AND {VISIBLE} ORDER BY version
        """

        values = owner, kind, self.person, self.person
        return self.file.read(lambda: _items(self.file.execute(sql, values)))

    def judgements(self, run: OpenRun) -> list[records.LocatedMark]:
        """The person's own judgements of a run's samples; a shared one replaces a private one of the same sample."""
        owner = self.owner(run)
        own = [item for item in self.of(owner) if item.person == self.person] if owner else []
        own.sort(key=lambda item: item.shared)
        marks = {mark.item.name: mark for mark in records.marks_of(own)}
        return [mark for mark in marks.values() if mark.mark.judgement]

    def before(self, owner: str, version: int, limit: int) -> ItemPage:
        """Up to `limit` marks on a run's samples that are older than a version, the newest first.

        The remaining marks are older than the returned version.
        """
        # `+` makes SQLite use the index of versions: with that of owners it would sort all marks for each page
        plus = self.file.unindexed
        sql = f"""
            SELECT {ITEM} FROM items WHERE {plus}owner = ? AND {plus}kind = 'sample' AND value IS NOT NULL
            AND version < ? AND {VISIBLE} ORDER BY version DESC LIMIT ?
        """
        rows = self.file.read(lambda: self.file.all(sql, owner, version, self.person, self.person, limit))
        return ItemPage(rows[-1][4] if rows else version, _items(rows), more=len(rows) == limit)

    def owners(self) -> list[records.Owner]:
        """Every run that has marks."""
        rows = self.file.read(lambda: self.file.all("SELECT key, format, name, path FROM owners"))
        return [records.Owner(*row) for row in rows]

    def owner(self, run: OpenRun) -> str | None:
        """The key of a run, None if it has no marks."""
        identity = identity_of(run, look=False)
        return self.file.read(lambda: self.file.find_owner(identity, lambda: identity_of(run)))

    def layout(self, run: OpenRun, page: str) -> tuple[dict[str, Any], int]:
        """Return the person's own layout of a page of a run, and its version; empty and 0 without one."""
        owner = self.owner(run)
        for item in self.of(owner, "layout") if owner else []:
            if item.name == page and not item.shared:
                return (dict(item.value) if isinstance(item.value, dict) else {}), item.version
        return {}, 0

    # Writing

    def change_layout(self, run: OpenRun, page: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change a layout, again if another viewer changes it in between; remove an empty one. Raises like `write`."""
        while True:
            layout, seen = self.layout(run, page)
            written = self.write(records.Change(kind="layout", name=page, value=change(layout) or None, seen=seen), run)
            if not written.is_conflict:
                return

    def write(self, change: records.Change, run: OpenRun | None = None, owner: str = "") -> records.Written:
        """Change the marks of a run (open, or named by its key), the layout of one of its pages, or a setting.

        Raises `BadQuery` for an invalid change, and `NotWritable` if the file cannot be written or another process
        holds it for long. Nothing changes then, and the caller may try again.
        """
        records.check(change, self.person)
        value = None
        if change.value is not None:
            try:
                value = msgspec.json.encode(change.value).decode()
            except UnicodeEncodeError:  # neither JSON nor SQLite can hold lone surrogates
                value = msgspec.json.encode(text.cleaned(msgspec.to_builtins(change.value))).decode()
        if isinstance(change.value, dict) and value is not None and len(value) > records.MAX_SETTING_CHARS:
            raise BadQuery(f"a {change.kind} may have {records.MAX_SETTING_CHARS:,} characters: keep less in it")
        identity = identity_of(run) if run else None
        return self.file.change(lambda: self._put(change, self._key(change, identity, owner), value))

    def _put(self, change: records.Change, key: str, value: str | None) -> records.Written:
        person = change.by or self.person
        place = (change.kind, key, change.name, person, int(change.shared))
        rows = self.file.all(
            f"SELECT {ITEM} FROM items "
            f"WHERE kind = ? AND owner = ? AND name = ? AND person = ? AND shared = ? AND {OWN}",
            *place,
        )
        current = _item(rows[0]) if rows else None
        if current is not None and rows[0][3] == value:
            return records.Written(current, is_conflict=False)
        version = 0 if current is None or (current.value is None and not change.seen) else current.version
        if current is not None and version != change.seen:
            return records.Written(current, is_conflict=True)
        if not rows:
            if person != self.person:
                raise BadQuery(f"{person} shares nothing with that name")
            ((count,),) = self.file.all("SELECT count(*) FROM items WHERE person = ?", person)
            if count >= MAX_ITEMS:
                raise BadQuery(f"{MAX_ITEMS:,} items are already stored: remove some first")
        ((newest,),) = self.file.all(records.NEWEST)
        row = (change.kind, key, change.name, value, newest + 1, time.time(), person, int(change.shared))
        self.file.all(PUT_ITEM, *row)
        item = _item(row)
        assert item is not None
        return records.Written(item, is_conflict=False)

    def _key(self, change: records.Change, identity: Identity | None, owner: str) -> str:
        """The key of the run to change, created for the first mark."""
        if change.kind == "setting":
            return ""
        if identity is not None:
            return self.file.find_or_make_owner(identity)
        if not self.file.all("SELECT 1 FROM owners WHERE key = ?", owner):
            raise BadQuery(f"nothing is kept of a run {owner[:40]!r}")
        return owner


def _items(rows: Iterable[Sequence[Any]]) -> list[records.Mark]:
    return [item for row in rows if (item := _item(row)) is not None]


def _item(row: Sequence[Any]) -> records.Mark | None:
    """Return a row as an item; None for an invalid row from a damaged file or another program."""
    kind, owner, name, value, version, changed_s, person, shared = row
    try:
        content = None if value is None else DECODERS[kind].decode(value)
        return records.Mark(
            kind=kind, owner=str(owner), name=str(name), value=content, version=int(version),
            changed_s=float(changed_s), person=str(person), shared=bool(shared),
        )  # fmt: skip
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return None


RULES = ("rules", "off")
"""The page and the field of its layout that hold the rules that are off: `{"off": {RULE: REASON}}`."""
FINDINGS = ("findings", "aside")
"""The page and the field that hold findings that are not hacks: `{"aside": {NAME: {"why": ..., "who": ..., "since":
...}}}`.
"""


def _entries(layout: Mapping[str, Any], field: str) -> dict[str, Any]:
    entries = layout.get(field)
    return dict(entries) if isinstance(entries, dict) else {}


def _set(state: State, run: OpenRun, place: tuple[str, str], name: str, entry: object) -> None:
    """Set an entry, or remove it for None."""
    page, field = place

    def change(layout: Mapping[str, Any]) -> dict[str, Any]:
        entries = _entries(layout, field)
        entries.pop(name, None)
        if entry is not None:
            entries[name] = entry
        return {field: entries} if entries else {}

    state.change_layout(run, page, change)


def rules_off(state: State, run: OpenRun) -> dict[str, str]:
    """Return the reasons by rule."""
    page, field = RULES
    return {rule: str(reason) for rule, reason in _entries(state.layout(run, page)[0], field).items()}


def switch_rule(state: State, run: OpenRun, rule: str, reason: str | None) -> None:
    """Switch a rule off, for a reason, or on again for None. Raises as `State.write` does."""
    _set(state, run, RULES, rule, reason)


class FindingAside(msgspec.Struct, frozen=True):
    """Why a finding is not a hack."""

    why: str = ""
    who: str = ""
    """The name of the person who says so."""
    since: float = 0
    """When, in milliseconds since 1970."""

    @property
    def by(self) -> str:
        """The person and the day; empty if neither is known."""
        try:
            day = datetime.fromtimestamp(self.since / 1000, UTC).date().isoformat() if self.since else ""
        except (OverflowError, ValueError, OSError):  # a number that is not a time
            day = ""
        return ", ".join(filter(None, (self.who, day)))


def findings_aside(state: State, run: OpenRun) -> dict[str, FindingAside]:
    """Return the findings that were set aside, oldest first, by phrase or behaviour."""
    page, field = FINDINGS
    by_name = {}
    for name, entry in _entries(state.layout(run, page)[0], field).items():
        if isinstance(entry, dict):
            why, who = (str(entry.get(key) or "") for key in ("why", "who"))
            since = entry.get("since")
            by_name[name] = FindingAside(why, who, since if isinstance(since, int | float) else 0)
    return by_name


def set_finding_aside(state: State, run: OpenRun, name: str, aside: FindingAside | None) -> None:
    """Set a finding aside, or take it back for None. Raises as `State.write` does."""
    _set(state, run, FINDINGS, name, None if aside is None else msgspec.to_builtins(aside))
