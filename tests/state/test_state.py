"""What a person added: kept, changed by several at once, refused where the file cannot be written."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.errors import BadQuery, NotWritable
from rolloupe.index import Library, OpenRun
from rolloupe.state import NAME, State, file
from rolloupe.state.records import MAX_NOTE_CHARS, Change, RunMark, SampleMark, Written
from tests.disks import on_small_disk
from tests.index.support import lines, opened, relax_run, row

SAMPLE = "train/0/0/1"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    relax_run(tmp_path / "runs/one", steps=2)
    with opened(tmp_path / "runs", tmp_path / "index") as library:
        yield library


@pytest.fixture
def run(library: Library) -> OpenRun:
    return library.runs[0]


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    state = State(tmp_path / "state")
    yield state
    state.close()


def note(text: str, seen: int = 0, *, name: str = SAMPLE) -> Change:
    return Change(kind="sample", name=name, value=SampleMark(bookmarked=True, note=text), seen=seen)


def notes(state: State) -> list[str]:
    return [item.value.note for item in state.items().items if isinstance(item.value, SampleMark)]


def test_what_is_kept_is_there_after_a_restart(state: State, run: OpenRun, tmp_path: Path) -> None:
    written = state.write(note("ends in the middle of a word"), run)
    assert not written.is_conflict
    state.write(Change(kind="run", name="", value=RunMark(name="baseline", colour=3), seen=0), run)
    state.write(Change(kind="setting", name="reading", value={"theme": "dark"}, seen=0))
    state.write(Change(kind="layout", name="metrics", value={"charts": ["reward"]}, seen=0), run)
    state.close()
    again = State(tmp_path / "state")
    held = again.items()
    kinds = [(item.kind, item.version) for item in held.items]
    assert kinds == [("sample", 1), ("run", 2), ("setting", 3), ("layout", 4)]
    assert held.version == 4
    assert held.items[0] == written.item
    assert {held.items[at].owner for at in (0, 1, 3)} == {again.owner(run)}
    assert [item.name for item in again.of(held.items[0].owner)] == [SAMPLE]
    again.close()


def test_the_file_is_its_owners_alone(state: State) -> None:
    assert state.file.path.stat().st_mode & 0o077 == 0
    assert state.file.path.parent.stat().st_mode & 0o077 == 0


def test_of_two_changes_of_one_version_the_second_is_told_of_the_first(state: State, run: OpenRun) -> None:
    first = state.write(note("first"), run).item
    assert state.write(note("mine", first.version), run).is_conflict is False
    late = state.write(note("theirs", first.version), run)
    assert late.is_conflict
    assert isinstance(late.item.value, SampleMark) and late.item.value.note == "mine"
    assert notes(state) == ["mine"]
    assert not state.write(note("theirs", late.item.version), run).is_conflict
    assert notes(state) == ["theirs"]


def test_to_say_the_same_is_no_conflict(state: State, run: OpenRun) -> None:
    first = state.write(note("same"), run)
    assert state.write(note("same"), run) == first


def test_what_was_removed_meanwhile_is_told_and_can_be_made_anew(state: State, run: OpenRun) -> None:
    first = state.write(note("x"), run).item
    gone = state.write(Change(kind="sample", name=SAMPLE, value=None, seen=first.version), run).item
    assert state.items().items == []
    assert [item.value for item in state.items(first.version).items] == [None]
    assert state.write(note("y", first.version), run) == Written(gone, is_conflict=True)
    assert not state.write(note("z"), run).is_conflict  # by who never saw it


def test_two_viewers_write_one_file_and_lose_nothing(state: State, run: OpenRun, tmp_path: Path) -> None:
    other = State(tmp_path / "state")
    assert not other.file.changed_elsewhere()

    def write(own: State, word: str) -> None:
        for n in range(20):
            assert not own.write(note(word, name=f"train/0/{word}/{n}"), run).is_conflict

    threads = [threading.Thread(target=write, args=pair) for pair in ((state, "a"), (other, "b"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = state.items()
    assert held == other.items()
    assert sorted(item.version for item in held.items) == list(range(1, 41))
    assert len({item.owner for item in held.items}) == 1
    assert other.file.changed_elsewhere() and not other.file.changed_elsewhere()
    other.close()


def test_a_run_that_was_moved_keeps_what_was_said(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("before"), run)
    key = state.owner(run)
    (tmp_path / "runs/one").rename(tmp_path / "runs/two")
    with opened(tmp_path / "runs/two", tmp_path / "index2") as moved:
        assert state.owner(moved.runs[0]) == key
        (owner,) = state.owners()
        assert owner.path.endswith("runs/two/rollout_result")


def test_a_copy_is_a_run_of_its_own(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("original"), run)
    relax_run(tmp_path / "runs/copy", steps=2)
    with opened(tmp_path / "runs/copy", tmp_path / "index2") as copy:
        assert state.owner(copy.runs[0]) is None
        state.write(note("copy"), copy.runs[0])
        assert state.owner(copy.runs[0]) not in (None, state.owner(run))


def test_another_run_at_the_same_place_is_another(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("the run before"), run)
    state.close()
    train = tmp_path / "runs/one/rollout_result/train"
    for step in range(2):
        (train / f"{step}.jsonl").write_bytes(lines([row(step, 0, prompt="Something else entirely")]))
    fresh = State(tmp_path / "state")
    with opened(tmp_path / "runs/one", tmp_path / "index2") as later:
        assert fresh.owner(later.runs[0]) is None
    assert notes(fresh) == ["the run before"]
    fresh.close()


def test_a_run_that_grew_is_the_same(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("early"), run)
    relax_run(tmp_path / "runs/one", steps=12)
    with opened(tmp_path / "runs/one", tmp_path / "index2") as later:
        assert state.owner(later.runs[0]) == state.owner(run) is not None


def test_where_the_folder_cannot_be_changes_are_refused_until_it_can(tmp_path: Path, run: OpenRun) -> None:
    (tmp_path / "file").write_text("in the way")
    state = State(tmp_path / "file" / "state")
    assert "file" in state.file.trouble
    check_is_refused(state, run)
    (tmp_path / "file").unlink()
    check_is_kept(state, run)


def check_is_refused(state: State, run: OpenRun) -> None:
    """A change raises, says where and why, and nothing shows of it."""
    before = notes(state)
    for _ in range(2):
        with pytest.raises(NotWritable, match=re.escape(str(state.file.path))):
            state.write(note("refused", name="train/0/0/7"), run)
    assert notes(state) == before and state.file.trouble


def check_is_kept(state: State, run: OpenRun) -> None:
    """A change is in the file, where a later viewer finds it."""
    before = notes(state)
    assert not state.write(note("kept by a retry", name="train/0/0/7"), run).is_conflict
    assert not state.file.trouble and state.file.changed_elsewhere()
    state.close()
    later = State(state.file.path.parent)
    assert notes(later) == [*before, "kept by a retry"]
    later.close()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_stays_as_it_is(tmp_path: Path, run: OpenRun, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    state = State(tmp_path)
    check_is_refused(state, run)
    assert (tmp_path / NAME).read_bytes() == content
    (tmp_path / NAME).unlink()
    check_is_kept(state, run)


def test_a_file_of_a_later_version_is_read_by_nobody_and_left_alone(state: State, tmp_path: Path, run: OpenRun) -> None:
    state.write(note("kept"), run)
    state.close()
    with sqlite3.connect(state.file.path) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    later = State(tmp_path / "state")
    assert "later version" in later.file.trouble
    assert notes(later) == []
    later.close()


@pytest.mark.parametrize("away", ["folder", "file"])
def test_a_file_that_was_removed_meanwhile_is_made_again_with_all_that_was_said(
    state: State, run: OpenRun, tmp_path: Path, away: str
) -> None:
    first = state.write(note("before"), run).item
    gone = state.write(note("not meant", name="train/0/0/2"), run).item
    state.write(Change(kind="sample", name="train/0/0/2", value=None, seen=gone.version), run)
    if away == "folder":
        shutil.rmtree(state.file.path.parent)
    else:
        state.file.path.unlink()
    assert notes(state) == ["before"]
    changed = state.write(note("changed", first.version), run)
    assert not changed.is_conflict and not state.file.trouble
    assert state.file.changed_elsewhere() and not state.file.changed_elsewhere()
    state.write(note("after", name="train/0/0/3"), run)
    again = State(tmp_path / "state")
    assert notes(again) == notes(state) == ["changed", "after"]
    assert again.owner(run) == state.owner(run) == first.owner
    assert [item.version for item in again.items(1).items] == [3, 4, 5]  # what was removed is told, too
    again.close()


def test_viewers_whose_file_was_removed_go_on_in_one(state: State, run: OpenRun, tmp_path: Path) -> None:
    state.write(note("both hold it"), run)
    state.write(note("older", name="train/0/0/2"), run)
    other = State(tmp_path / "state")
    shutil.rmtree(state.file.path.parent)
    stranger = State(tmp_path / "state")  # begins before the others write
    newer = stranger.write(note("newer", name="train/0/0/2"), run).item
    assert not state.write(note("one", name="train/0/0/3"), run).is_conflict
    assert not other.write(note("two", name="train/0/0/4"), run).is_conflict
    late = state.write(note("unseen", newer.version + 1, name="train/0/0/2"), run)
    assert late == Written(newer, is_conflict=True)
    for each in (state, other, stranger):
        assert sorted(notes(each)) == ["both hold it", "newer", "one", "two"]
        assert {item.owner for item in each.items().items} == {newer.owner}
        each.close()


def test_a_copy_that_is_put_in_the_files_place_is_gone_on_in(state: State, run: OpenRun, tmp_path: Path) -> None:
    first = state.write(note("as it was"), run).item
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert isinstance(state.file, file.StateFile)
        state.file.connection.backup(copy)
    later = state.write(note("changed since", first.version), run).item
    for n in range(50):
        state.write(note("x" * 9000, name=f"train/0/1/{n}"), run)
    os.replace(tmp_path / "copy", state.file.path)
    assert state.write(note("seen since", later.version), run) == Written(first, is_conflict=True)
    state.write(note("y", name="train/0/2/0"), run)
    assert [note[0] for note in notes(state)] == ["a", *["x"] * 50, "y"]
    again = State(tmp_path / "state")
    assert notes(again) == notes(state)
    assert again.file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    again.close()


def test_where_a_file_that_was_removed_cannot_be_made_again_is_told(state: State, run: OpenRun) -> None:
    state.write(note("before"), run)
    shutil.rmtree(state.file.path.parent)
    state.file.path.parent.write_text("in the way")
    check_is_refused(state, run)
    assert notes(state) == ["before"]
    assert state.file.path.parent.read_text() == "in the way"
    state.file.path.parent.unlink()
    check_is_kept(state, run)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_only_be_read_is_read(state: State, tmp_path: Path, run: OpenRun) -> None:
    state.write(note("kept"), run)
    state.close()
    state.file.path.chmod(0o400)
    state.file.path.parent.chmod(0o500)
    check_reads_and_refuses(tmp_path, run)
    state.file.path.parent.chmod(0o700)


def test_what_can_be_read_is_shown_where_nothing_can_be_written(
    state: State, tmp_path: Path, run: OpenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.write(note("kept"), run)
    state.close()
    refused = PermissionError(13, "Permission denied", str(state.file.path))
    monkeypatch.setattr(file, "open_file", lambda path, *, check=False: (_ for _ in ()).throw(refused))
    check_reads_and_refuses(tmp_path, run)


def check_reads_and_refuses(tmp_path: Path, run: OpenRun) -> None:
    state = State(tmp_path / "state")
    assert "ermission" in state.file.trouble or "readonly" in state.file.trouble
    check_is_refused(state, run)
    assert notes(state) == ["kept"]
    state.close()


FULL = """
import json, sys
from pathlib import Path
from rolloupe.errors import NotWritable
from rolloupe.index import Library
from rolloupe.state import State
from rolloupe.state.records import Change, SampleMark
from tests.disks import fill

sys.modules["pandas"] = None  # Arrow would import it
disk, run_folder = Path(sys.argv[1]), Path(sys.argv[2])


def write(state, number, told):
    mark = SampleMark(bookmarked=True, note=f"{number}" + "x" * 9000)
    change = Change(kind="sample", name=f"train/0/0/{number}", value=mark, seen=0)
    try:
        assert not state.write(change, library.runs[0]).is_conflict
    except NotWritable as error:
        assert "full" in str(error) or "No space" in str(error) or "unable" in str(error) or "I/O" in str(error), error
        told["refused"].append(number)
    else:
        told["kept"].append(number)


def notes(state):
    return sorted(int(item.value.note.strip("x")) for item in state.items().items)


with Library([run_folder], index_dir=run_folder.parent / "own index") as library:
    library.runs[0].wait(30)
    for when in ("start", "later"):
        told = {"kept": [], "refused": []}
        filler = fill(disk) if when == "start" else None
        state = State(disk / when)
        for number in range(3):
            write(state, number, told)
        filler = filler or fill(disk)
        for number in range(3, 40):
            write(state, number, told)
        assert notes(state) == told["kept"], "what is not kept does not show"
        assert state.file.trouble
        filler.unlink()
        again, told["refused"] = told["refused"], []
        told["again"] = again
        for number in again:
            write(state, number, told)
        assert not state.file.trouble
        state.close()
        told["stored"] = notes(State(disk / when))
        print(json.dumps(told))
"""


def test_what_a_full_disk_refused_is_stored_by_a_later_try(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    words = [sys.executable, "-c", FULL, str(tmp_path / "disk"), str(tmp_path / "run")]
    done = subprocess.run(
        on_small_disk(4_000_000, tmp_path / "disk", words), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for told in map(json.loads, done.stdout.splitlines()):
        assert len(told["again"]) >= 20 and told["refused"] == []
        assert told["stored"] == list(range(40))
    assert done.stdout.count("stored") == 2


def test_a_file_that_another_holds_is_told(state: State, run: OpenRun, monkeypatch: pytest.MonkeyPatch) -> None:
    state.file.execute("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(state.file.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(NotWritable, match="another process"):
        state.write(note("x"), run)
    other.execute("ROLLBACK")
    other.close()
    assert not state.write(note("x"), run).is_conflict
    assert not state.file.trouble


def test_what_is_too_long_or_unknown_is_refused(state: State, run: OpenRun) -> None:
    for change in (
        note("x" * (MAX_NOTE_CHARS + 1)),
        Change(kind="run", name="", value=RunMark(colour=11), seen=0),
        Change(kind="run", name="", value=RunMark(name="x" * 201), seen=0),
        Change(kind="run", name="x", value=RunMark(), seen=0),
        Change(kind="sample", name="", value=SampleMark(), seen=0),
        Change(kind="sample", name="x", value=RunMark(), seen=0),
        Change(kind="setting", name="x", value={"x": "x" * 40_000}, seen=0),
        Change(kind="layout", name="x", value={"x": "x" * 40_000}, seen=0),
        Change(kind="layout", name="", value={"x": []}, seen=0),
        Change(kind="other", name="x", value={}, seen=0),
    ):
        with pytest.raises(BadQuery):
            state.write(change, run)
    with pytest.raises(BadQuery, match="nothing is kept"):
        state.write(note("x"), owner="feed")
    assert state.items().items == []


def test_parts_are_read_in_order_without_all_being_sorted_for_each(state: State, run: OpenRun) -> None:
    for nth in range(5):
        state.write(note(str(nth), name=f"train/{nth}/0/0"), run)
    state.write(Change(kind="run", name="", value=RunMark(name="mine"), seen=0), run)
    asked: list[str] = []
    assert isinstance(state.file, file.StateFile)
    state.file.connection.set_trace_callback(asked.append)
    held = state.before(state.owner(run) or "", 5, 2)
    whole = state.items(2, 1)
    state.file.connection.set_trace_callback(None)
    assert [(item.version, held.version, held.more) for item in held.items] == [(4, 3, True), (3, 3, True)]
    assert [(item.version, whole.version, whole.more) for item in whole.items] == [(3, 3, True)]
    plans = [state.file.all(f"EXPLAIN QUERY PLAN {sql}") for sql in asked if "FROM items" in sql]
    assert len(plans) == 2 and not [step for plan in plans for step in plan if "B-TREE" in step[-1]]


def test_a_lone_surrogate_does_not_keep_a_note_from_being_kept(state: State, run: OpenRun) -> None:
    state.write(note("half \ud83d of a sign"), run)
    assert notes(state) == ["half \ufffd of a sign"]


def test_a_row_that_cannot_be_read_hides_no_other(state: State, run: OpenRun) -> None:
    state.write(note("fine"), run)
    for value in ("{", '"text"', "[1]", '{"note": 7}'):
        state.file.execute(
            "INSERT INTO items (kind, owner, name, value, version, changed_s) "
            "SELECT kind, owner, ?, ?, (SELECT max(version) + 1 FROM items), 0 FROM items LIMIT 1",
            (f"broken {value}", value),
        )
    assert notes(state) == ["fine"]


def insert(state: State, name: str, value: str, version: object) -> None:
    state.file.execute(
        "INSERT INTO items (kind, owner, name, value, version, changed_s) VALUES ('setting', '', ?, ?, ?, 0)",
        (name, value, version),
    )


def test_a_setting_that_is_nested_too_deep_hides_no_other(state: State, run: OpenRun) -> None:
    state.write(note("fine"), run)
    insert(state, "deep", '{"a":' * 20_000 + "1" + "}" * 20_000, 7)
    assert notes(state) == ["fine"] and [item.name for item in state.items().items] == [SAMPLE]


@pytest.mark.parametrize("version", [2**63 - 1, 2**53, "text", 1e300, b"bytes"])
def test_a_version_that_none_can_follow_keeps_nothing_from_being_kept(
    state: State, run: OpenRun, tmp_path: Path, version: object
) -> None:
    state.write(note("fine"), run)
    insert(state, "foreign", "{}", version)
    assert (state.items().version, notes(state)) == (1, ["fine"])
    assert state.write(note("better", 1), run).item.version == 2
    own = Change(kind="setting", name="foreign", value={"theme": "dark"}, seen=0)
    assert not state.write(own).is_conflict
    assert [item.version for item in state.items(1).items] == [2, 3]
    state.file.path.rename(tmp_path / "moved")
    assert state.write(note("moved", 2), run).item.version > 3


def test_a_file_with_damaged_pages_stays_as_it_is(tmp_path: Path) -> None:
    with contextlib.closing(State(tmp_path)) as state:
        for number in range(300):
            state.write(Change(kind="setting", name=f"name-{number}", value={"x": "x" * 900}, seen=0))
    path = tmp_path / NAME
    data = bytearray(path.read_bytes())
    assert len(data) > 60 * 4096
    data[20 * 4096 : 50 * 4096] = b"\xa5" * (30 * 4096)
    path.write_bytes(data)
    with contextlib.closing(State(tmp_path)) as state:
        with contextlib.suppress(sqlite3.DatabaseError):
            state.items()
        for _ in range(2):
            with pytest.raises(NotWritable):
                state.write(Change(kind="setting", name="new", value={"y": 1}, seen=0))
    assert path.read_bytes() == data
