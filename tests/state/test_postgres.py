"""The state in a real PostgreSQL: as in the file, with several servers at once, and when the database goes away."""

import contextlib
import itertools
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.errors import BadQuery, NotWritable
from rolloupe.index import Library, OpenRun
from rolloupe.state import State
from rolloupe.state import postgres as module
from rolloupe.state.records import Change, RunMark, SampleMark
from tests.server.support import relax_run
from tests.state.postgres_server import Postgres, postgres
from tests.thoroughness import each

NUMBERS = itertools.count()
LONG_NAME = "".join(chr(0x4E00 + n * n % 19_937) for n in range(4000))
"""Too long for an index of PostgreSQL, however it is compressed."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as server:
        yield server


@pytest.fixture
def url(server: Postgres) -> str:
    return server.database(f"state{next(NUMBERS)}")


@pytest.fixture
def state(url: str) -> Iterator[State]:
    with contextlib.closing(State.at(url)) as state:
        yield state


@pytest.fixture
def run(tmp_path: Path) -> Iterator[OpenRun]:
    relax_run(tmp_path / "run", steps=1)
    with Library([tmp_path / "run"], index_dir=tmp_path / "index") as library:
        assert library.runs[0].wait_all(30)
        yield library.runs[0]


def note(text: str, seen: int = 0, name: str = "train/0/0/1", *, shared: bool = False) -> Change:
    return Change(kind="sample", name=name, value=SampleMark(note=text), seen=seen, shared=shared)


def notes(state: State) -> list[str]:
    return [item.value.note for item in state.items().items if isinstance(item.value, SampleMark)]


def test_what_people_keep_is_there_after_a_restart(state: State, url: str, run: OpenRun) -> None:
    ada, bob = state.seen_by("ada"), state.seen_by("bob")
    first = ada.write(note("private"), run).item
    assert ada.write(note("changed", first.version), run).item.version == 2
    ada.write(note("shared", name="train/0/0/2", shared=True), run)
    bob.write(Change(kind="run", name="", value=RunMark(name="mine", colour=3), seen=0), run)
    bob.write(Change(kind="setting", name="theme", value={"dark": True}, seen=0))
    with contextlib.closing(State.at(url)) as again:
        assert notes(again.seen_by("ada")) == ["changed", "shared"]
        assert notes(again.seen_by("bob")) == ["shared"]
        assert [item.kind for item in again.seen_by("bob").items().items] == ["sample", "run", "setting"]
        assert [one.key for one in again.owners()] == [again.owner(run)]
        owner = again.owner(run) or ""
        assert len(again.seen_by("ada").of(owner)) == 2
        page = again.seen_by("ada").before(owner, 2**63 - 1, 1)
        assert (page.more, page.items[0].person, page.items[0].shared) == (True, "ada", True)
        assert [item.version for item in again.seen_by("ada").items(2, 1).items] == [3]


def test_of_two_changes_of_one_version_the_second_is_refused(state: State, run: OpenRun) -> None:
    first = state.write(note("one"), run).item
    assert not state.write(note("two", first.version), run).is_conflict
    late = state.write(note("three", first.version), run)
    assert late.is_conflict and notes(state) == ["two"]
    removed = state.write(Change(kind="sample", name="train/0/0/1", value=None, seen=late.item.version), run)
    assert removed.item.value is None and notes(state) == []


def test_a_run_that_was_moved_keeps_its_notes(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("kept"), run)
    key = state.owner(run)
    shutil.move(tmp_path / "run", tmp_path / "moved")
    with Library([tmp_path / "moved"], index_dir=tmp_path / "index") as library:
        assert library.runs[0].wait_all(30)
        assert state.owner(library.runs[0]) == key


def test_several_servers_lose_nothing(state: State, url: str, run: OpenRun) -> None:
    state.write(note("first"), run)
    servers = [State.at(url) for _ in range(4)]

    def write(number: int) -> None:
        person = servers[number].seen_by(f"p{number}")
        for nth in range(25):
            assert not person.write(note(f"{nth}", name=f"train/0/0/{nth}", shared=True), run).is_conflict

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = state.seen_by("reader").items().items
    assert len(found) == 100 and len({item.version for item in found}) == 100
    for one in servers:
        one.close()


def test_other_servers_notice_a_change(state: State, url: str, run: OpenRun) -> None:
    with contextlib.closing(State.at(url)) as other:
        assert not other.file.changed_elsewhere()
        state.write(note("new"), run)
        assert other.file.changed_elsewhere() and not other.file.changed_elsewhere()


def test_a_lost_connection_is_made_again(state: State, server: Postgres, run: OpenRun) -> None:
    state.write(note("before"), run)
    server.stop()
    for _ in range(2):
        with pytest.raises(NotWritable, match="does not answer"):
            state.items()
        with pytest.raises(NotWritable, match="does not answer"):
            state.write(note("lost", name="train/0/0/2"), run)
    assert state.file.trouble
    server.start()
    assert notes(state) == ["before"] and not state.file.trouble
    state.write(note("after", name="train/0/0/2"), run)
    assert notes(state) == ["before", "after"]


def test_a_change_waits_for_another_only_so_long(monkeypatch: pytest.MonkeyPatch, url: str, run: OpenRun) -> None:
    import psycopg

    monkeypatch.setattr(module, "LOCK_MS", 50)
    with contextlib.closing(State.at(url)) as state, psycopg.connect(url) as other:
        state.write(note("before"), run)
        other.execute("LOCK TABLE items IN SHARE ROW EXCLUSIVE MODE")
        with pytest.raises(NotWritable, match="another server"):
            state.write(note("after", name="train/0/0/2"), run)
        assert notes(state) == ["before"], "reading waits for nobody"
        other.rollback()
        assert not state.write(note("after", name="train/0/0/2"), run).is_conflict


def test_a_database_of_a_later_version_is_left_alone(state: State, url: str) -> None:
    import psycopg

    with psycopg.connect(url) as line:
        line.execute("UPDATE rolloupe_state SET version = 99")
    with pytest.raises(BadQuery, match="later version"):
        State.at(url)


@each("place", ["postgresql://u:hunter2@/x?host=/nowhere", "postgresql://u:hunter2@/x?nonsense=1"])
def test_an_address_that_leads_nowhere_is_explained_without_its_password(place: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(NotWritable) as error:
        State.at(place)
    assert "hunter2" not in str(error.value)


def test_hostile_names_and_texts_are_values(state: State, run: OpenRun) -> None:
    person = state.seen_by("'; DROP TABLE items; --")
    person.write(note("%s ? \x00 \ud800 '; --", name="train/0/%s?/1"), run)
    (item,) = person.items().items
    assert isinstance(item.value, SampleMark)
    assert (item.name, item.value.note) == ("train/0/%s?/1", "%s ? \x00 \ufffd '; --")
    with pytest.raises(BadQuery):
        person.write(note("x", name="train/0/\x00/1"), run)


@pytest.mark.parametrize("change", [{"name": LONG_NAME}, {"owner": "a\0b"}])
def test_what_the_database_cannot_hold_is_refused_and_no_trouble(
    state: State, run: OpenRun, change: dict[str, str]
) -> None:
    of = change.get("owner", "")
    asked = Change(kind="layout", name=change.get("name", "page"), value={"a": 1}, seen=0)
    with pytest.raises(BadQuery, match="PostgreSQL cannot keep this"):
        state.write(asked, None if of else run, of)
    assert not state.file.trouble and not state.write(note("as ever"), run).is_conflict
