"""Nothing but numbers is indexed before somebody has looked at a sample, but never for long."""

import math
import threading
from pathlib import Path

import pytest

from rolloupe.cli import runs as cli_runs
from rolloupe.index import IndexWork, Library
from rolloupe.index.run_indexer import RunIndexer
from rolloupe.query import SampleQuery
from rolloupe.query.search import Search, TextQuery
from rolloupe.server.settings import RunPaths
from tests.index.support import eventually, opened, relax_run


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[RunIndexer]:
    """Every poll of a run."""
    found: list[RunIndexer] = []
    poll = RunIndexer.poll
    monkeypatch.setattr(RunIndexer, "poll", lambda self: (found.append(self), poll(self))[1])
    return found


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """What every turn of a run returned."""
    found: list[float | None] = []
    turn = RunIndexer.turn

    def counted(self: RunIndexer) -> float | None:
        found.append(rest_s := turn(self))
        return rest_s

    monkeypatch.setattr(RunIndexer, "turn", counted)
    return found


def wait_for_last(turns: list[float | None]) -> None:
    """Wait for a turn that no other follows by itself."""
    eventually(lambda: bool(turns) and turns[-1] in (None, math.inf))


def test_texts_wait_for_the_first_look_without_more_polls(tmp_path: Path, polls: list[RunIndexer]) -> None:
    relax_run(tmp_path / "run")
    looked_at = threading.Event()
    with opened(tmp_path / "run", tmp_path / "index", looked_at=looked_at, follow=True) as library:
        (run,) = library.runs
        assert run.wait(30) and not run.wait_all(0.6) and run.progress().phase == "scalars"
        assert [path for path in run.catalog.folder.rglob("*.texts*") if path.is_file()] == []
        assert len(polls) <= 0.6 / run.indexer.times.rest_s + 5
        library.go_on()
        assert looked_at.is_set() and run.wait_all(30) and run.progress().phase == "ready"


def test_a_run_that_is_indexed_already_waits_for_nobody(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index", follow=True) as library:
        assert library.runs[0].wait_all(30)
    with opened(tmp_path / "run", tmp_path / "index", looked_at=threading.Event(), follow=True) as library:
        assert library.runs[0].wait_all(30)


def test_the_run_that_is_seen_first_is_indexed_before_all_others(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    for name in names:
        relax_run(tmp_path / "runs" / name)
    place, index, looked_at = [tmp_path / "runs"], tmp_path / "index", threading.Event()
    with Library(place, index_dir=index, follow=True, work=IndexWork(looked_at=looked_at, first="b")) as library:
        assert library.runs[1].wait(30) and [run.is_started for run in library.runs] == [False, True, False]
        library.runs[2].note_question()
        assert library.runs[2].wait(30) and not library.runs[0].is_started
        library.go_on()
        assert all(run.wait_all(30) for run in library.runs)
    with Library(
        place, index_dir=index, follow=True, work=IndexWork(looked_at=threading.Event(), first="x")
    ) as library:
        assert all(run.wait_all(30) for run in library.runs)


def test_a_run_that_is_only_asked_about_keeps_to_its_numbers(tmp_path: Path, turns: list[float | None]) -> None:
    """Until something waits for more: a short command would do the rest beside its answer, and leave it half done."""
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index", looked_at=threading.Event()) as library:
        (run,) = library.runs
        wait_for_last(turns)
        assert not [*run.catalog.folder.rglob("*.text.parquet")]
        assert run.wait_all(30) and run.progress().phase == "ready"
        assert len([*run.catalog.folder.rglob("*.text.parquet")]) == 3


def test_a_search_that_lacks_texts_has_them_written(tmp_path: Path, turns: list[float | None]) -> None:
    relax_run(tmp_path / "run")
    with opened(tmp_path / "run", tmp_path / "index", looked_at=threading.Event()) as library:
        (run,) = library.runs
        wait_for_last(turns)
        *_, last = Search(run, TextQuery(text="Answer 7"), SampleQuery())
        assert (last.progress.found, last.progress.from_sources) == (3, 24)
        assert run.indexer.settled.wait(30) and len([*run.catalog.folder.rglob("*.text.parquet")]) == 3


def test_commands_that_need_no_more_than_numbers_write_no_more(tmp_path: Path, turns: list[float | None]) -> None:
    relax_run(tmp_path / "run")
    for needs_texts in (False, True):
        turns.clear()
        with cli_runs.opened(RunPaths((str(tmp_path / "run"),), str(tmp_path / "index")), texts=needs_texts):
            wait_for_last(turns)
        assert bool([*(tmp_path / "index").rglob("*.text.parquet")]) == needs_texts
