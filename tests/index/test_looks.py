"""Polls of a large run look at some files alone, and miss no change for longer than they promise."""

import functools
import os
from pathlib import Path

import pytest

from rolloupe.formats import by_name
from rolloupe.index import sources
from rolloupe.index.compaction import Packs
from rolloupe.index.fingerprint import FileState, state_of_source
from rolloupe.index.run_indexer import RunIndexer
from rolloupe.index.run_scheduler import Clock
from rolloupe.index.segments.segment import is_readable
from rolloupe.model import RunInfo, RunPart, Source
from tests.index.support import eventually, lines, opened, relax_run, row, row_count, settled

FILES, LATEST = 50, 5


class StandingClock(Clock):
    """A clock that moves when a test moves it."""

    def __init__(self) -> None:
        self.at_s = 1000.0

    def now_s(self) -> float:
        return self.at_s

    def date_s(self) -> float:
        return self.at_s


class Polled:
    """A large run under a clock that stands, and how many files and folders each poll looked at."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.train = relax_run(root, steps=FILES, samples=1)
        self.clock, self.files, self.lists, self.listed = StandingClock(), 0, 0, 0
        monkeypatch.setattr(sources, "MANY_FILES", FILES)
        monkeypatch.setattr(sources, "LATEST", LATEST)
        monkeypatch.setattr(sources, "state_of_source", self._counted)
        parts = (RunPart(str(self.train), "train"), RunPart(str(self.train.with_name("eval")), "eval"))
        place = root / "rollout_result"
        info = RunInfo(name="run", root=str(place), format="relax", reason="", parts=parts, link_root=str(place))
        form = by_name("relax")
        self.sources = sources.Sources(info, form, clock=self.clock)
        list_ = form.sources

        def listed(run: RunInfo) -> list[Source]:
            self.lists += 1
            found = list_(run)
            self.listed = len(found)
            return found

        monkeypatch.setattr(form, "sources", listed)
        for _ in range(2):  # the second one is due when the times of the folders have settled
            self.look(sources.SETTLE_S)

    def _counted(self, source: Source) -> FileState | None:
        self.files += 1
        return state_of_source(source)

    def look(self, after_s: float) -> sources.Seen:
        """Poll after some time."""
        self.clock.at_s += after_s
        self.files = self.lists = 0
        return self.sources.look()

    def looked(self, after_s: float) -> tuple[int, int]:
        """How often a poll after some time lists the sources, and at how many files it looks."""
        self.look(after_s)
        return self.lists, self.files


@pytest.fixture
def polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Polled:
    """A large run that has been looked at whole."""
    return Polled(tmp_path / "run", monkeypatch)


def test_at_rest_a_poll_lists_nothing_and_looks_at_a_few_files(polled: Polled) -> None:
    lists, files = polled.looked(sources.ROUND_S / FILES)
    assert (lists, LATEST <= files <= LATEST + 2) == (0, True)
    assert polled.looked(sources.WHOLE_S) == (1, FILES)


def test_a_smaller_run_is_looked_at_whole(polled: Polled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MANY_FILES", FILES + 1)
    polled.look(sources.WHOLE_S)
    assert polled.looked(0.01) == (1, FILES)


@pytest.mark.parametrize("folder", ["train", "eval"])
def test_a_file_that_comes_or_goes_is_seen_by_the_next_poll(polled: Polled, folder: str) -> None:
    place = polled.train.with_name(folder)  # that of evaluations is not there yet
    place.mkdir(exist_ok=True)
    (place / "99.jsonl").write_bytes(lines([row(99, 0)]))
    (polled.train / "3.jsonl").unlink()
    seen = polled.look(0.01)
    assert (seen.changed, seen.lost) == ({f"{folder}/99.jsonl"}, {"train/3.jsonl"})


def test_a_file_that_another_replaces_is_seen_by_the_next_poll(polled: Polled) -> None:
    (polled.train / "new").write_bytes(lines([row(3, 1)]))
    (polled.train / "new").rename(polled.train / "3.jsonl")
    assert polled.look(0.01).changed == {"train/3.jsonl"}


def grow(polled: Polled, step: int) -> str:
    """Append to the file of a step; returns its name."""
    with (polled.train / f"{step}.jsonl").open("ab") as file:
        file.write(lines([row(step, 1)]))
    return f"train/{step}.jsonl"


def test_the_newest_files_are_looked_at_by_every_poll(polled: Polled) -> None:
    name = grow(polled, FILES - LATEST)
    assert polled.look(0.0).changed == {name}


def test_of_a_folder_that_changed_only_new_files_are_listed(polled: Polled) -> None:
    for step in (98, 99):
        (polled.train / f"{step}.jsonl").write_bytes(lines([row(step, 0)]))
        assert polled.look(0.01).changed == {f"train/{step}.jsonl"}
        assert (polled.lists, polled.listed, polled.files) == (1, 1, step - 98 + FILES + 1)
    assert polled.look(sources.SETTLE_S) == (set(), set())
    assert (polled.lists, polled.listed) == (1, 0)
    (polled.train / "98.jsonl").unlink()
    assert polled.look(0.01).lost == {"train/98.jsonl"}
    (polled.train / "98.jsonl").write_bytes(lines([row(98, 0)]))
    assert polled.look(0.01).changed == {"train/98.jsonl"}
    assert polled.look(sources.WHOLE_S) == (set(), set())
    assert polled.looked(0.01)[0] == 0, "folders are trusted still"


def test_a_plain_file_takes_the_place_of_a_compressed_one(polled: Polled) -> None:
    for name in ("99.jsonl.gz", "99.jsonl"):
        (polled.train / name).write_bytes(b"")
        polled.look(0.01)
        assert [one for one in polled.sources.all() if "99" in one] == [f"train/{name}"]


@pytest.mark.parametrize("step", range(0, FILES - LATEST, 7))
def test_an_old_file_that_grows_in_place_shows_after_a_round_and_then_at_once(polled: Polled, step: int) -> None:
    name, polls = grow(polled, step), 7
    seen = [polled.look(sources.ROUND_S / polls).changed for _ in range(polls)]
    assert set().union(*seen) == {name}
    grow(polled, step)
    assert polled.look(0.0).changed == {name}


def test_a_folder_that_counts_whole_seconds_is_listed_again(polled: Polled, monkeypatch: pytest.MonkeyPatch) -> None:
    (polled.train / "98.jsonl").write_bytes(lines([row(98, 0)]))
    assert polled.look(0.01).changed == {"train/98.jsonl"}
    monkeypatch.setattr(sources, "folder_state", functools.cache(sources.folder_state))  # as in the same second
    polled.look(0.0)
    (polled.train / "99.jsonl").write_bytes(lines([row(99, 0)]))
    assert polled.look(sources.SETTLE_S).changed == {"train/99.jsonl"}
    assert polled.looked(0.01)[0] == 0


def test_folders_that_keep_their_times_are_listed_by_every_poll(
    polled: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "folder_state", functools.cache(sources.folder_state))
    polled.look(0.0)
    (polled.train / "98.jsonl").write_bytes(lines([row(98, 0)]))
    assert polled.look(sources.WHOLE_S).changed == {"train/98.jsonl"}
    (polled.train / "99.jsonl").write_bytes(lines([row(99, 0)]))
    assert polled.look(0.01).changed == {"train/99.jsonl"}


def test_a_large_run_at_rest_searches_for_no_work_and_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (sources, "MANY_FILES", 3), (sources, "SETTLE_S", 0.1), (sources, "QUIET_S", 0.1), (sources, "POLL_S", 0.02),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    work = {"looks": 0, "searches": 0}
    poll, scan_new = RunIndexer.poll, RunIndexer.scan_new

    def polled(indexer: RunIndexer) -> None:
        work["looks"] += 1
        poll(indexer)

    def searched(indexer: RunIndexer) -> None:
        work["searches"] += 1
        scan_new(indexer)

    monkeypatch.setattr(RunIndexer, "poll", polled)
    monkeypatch.setattr(RunIndexer, "scan_new", searched)
    train = relax_run(tmp_path / "run", steps=3)
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        run = library.runs[0]
        eventually(run.indexer.is_at_rest)
        before = work.copy()
        eventually(lambda: work["looks"] > before["looks"] + 5)
        assert work["searches"] <= before["searches"] + 1  # a turn that had begun
        (train / "7.jsonl").write_bytes(lines([row(7, 0)]))
        eventually(lambda: row_count(run) == 25)
        eventually(run.indexer.is_at_rest)
        path = run.snapshot().segments[0].path
        os.truncate(path, 4)
        run.heal([path])
        eventually(lambda: row_count(run) == 25 and is_readable(path))


def test_what_a_look_finds_in_the_middle_of_a_turn_is_indexed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MANY_FILES", 3)
    monkeypatch.setattr(sources, "SETTLE_S", 0.0)
    monkeypatch.setattr(sources, "QUIET_S", -1.0)
    train = relax_run(tmp_path / "run", steps=3)
    with settled(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        run.indexer.poll()

        def write_late() -> None:
            (train / "8.jsonl").write_bytes(lines([row(8, 0)]))
            run.indexer.poll()

        with monkeypatch.context() as patch:
            patch.setattr(Packs, "write", lambda *_: write_late())
            run.indexer.turn()
        assert row_count(run) == 24
        run.indexer.turn()
        assert row_count(run) == 25
