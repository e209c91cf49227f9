"""Nothing but numbers is indexed before somebody has looked at a sample, but never for long."""

import threading
from pathlib import Path

import pytest

from rolloupe.index import IndexWork, Library
from rolloupe.index.run_indexer import RunIndexer
from tests.index.support import opened, relax_run


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> list[RunIndexer]:
    """Every poll of a run."""
    found: list[RunIndexer] = []
    poll = RunIndexer.poll
    monkeypatch.setattr(RunIndexer, "poll", lambda self: (found.append(self), poll(self))[1])
    return found


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
