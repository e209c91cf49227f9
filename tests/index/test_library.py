"""Runs that begin while a library is open."""

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rolloupe.formats import Discovery, discover
from rolloupe.index import IndexWork, Library, OpenRun, RunSearch
from rolloupe.index import library as library_module
from rolloupe.index.library import ids_of
from rolloupe.model import AS_FOUND, RunInfo
from tests.index.support import SteppedClock, eventually, lines, relax_run, row, row_count


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "LOOK_S", 0.05)


def test_the_first_run_of_an_empty_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with Library([tmp_path / "root"], index_dir=tmp_path / "index", follow=True) as library:
        told: list[str] = []
        library.subscribe(lambda kind, _: told.append(kind))
        assert library.runs == [] and library.notes
        relax_run(tmp_path / "root/a")
        eventually(lambda: len(library.runs) == 1 and row_count(library.runs[0]) == 24)
        assert told[0] == "runs", "nothing is heard of a run that was not announced"


def test_a_run_that_begins_beside_others_gets_an_id_of_its_own(tmp_path: Path) -> None:
    relax_run(tmp_path / "root/x/run")
    with Library([tmp_path / "root"], index_dir=tmp_path / "index", follow=True) as library:
        first = library.runs[0]
        relax_run(tmp_path / "root/y/run", steps=1)
        eventually(lambda: len(library.runs) == 2 and row_count(library.runs[1]) == 8)
        assert library.runs[0] is first and len({run.id for run in library.runs}) == 2
        (tmp_path / "root/y/run/rollout_result/train/5.jsonl").write_bytes(lines([row(5, 0)]))
        eventually(lambda: row_count(library.runs[1]) == 9)


def test_a_run_of_curves_that_writes_its_first_samples_goes_on_under_its_id(tmp_path: Path) -> None:
    (tmp_path / "runs/a").mkdir(parents=True)
    (tmp_path / "runs/a/metrics.csv").write_text("step,loss\n1,0.5\n")
    with Library([tmp_path / "runs"], index_dir=tmp_path / "index") as library:
        (curves,) = library.runs
        curves.wait()
        before = curves.version
        (tmp_path / "runs/a/metrics.csv").write_text("step,loss\n1,0.5\n2,0.25\n")
        curves.indexer.poll()
        assert curves.version != before  # pages ask again
        (tmp_path / "runs/a/metrics.csv").unlink()
        library.look()
        assert library.runs == [curves]  # as any run whose files are gone
        (tmp_path / "runs/a/0.jsonl").write_text('{"prompt": "p", "response": "r", "score": 1}\n')
        library.look()
        (run,) = library.runs
        assert (curves.info.format, run.info.format, run.id) == ("curves", "generic", curves.id)


@pytest.mark.parametrize("is_whole", [False, True])
def test_samples_beside_the_curves_of_an_open_run_take_it_over_whichever_look_finds_them_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    monkeypatch.setattr(Library, "watch", lambda *_: None)  # the test looks itself
    (tmp_path / "run").mkdir()
    (tmp_path / "run/metrics.jsonl").write_text('{"step": 0, "loss": 1.0}\n')
    with Library([tmp_path / "run"], index_dir=tmp_path / "index", follow=True) as library:
        (curves,) = library.runs
        relax_run(tmp_path / "run", steps=1)
        library.look() if is_whole else library.look_for_new()
        (run,) = library.runs
        assert (curves.info.format, run.info.format, run.id) == ("curves", "relax", curves.id)
        library.look_for_new()
        library.look()
        assert library.runs == [run]
        eventually(lambda: row_count(run) == 8)


def test_an_evaluation_that_begins_beside_its_run_joins_it(tmp_path: Path) -> None:
    record = {"prompt": "p", "response": "r", "reward": 1.0, "ref_reward": 0.5, "step": 0}
    for name in ("task", "other"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "data.jsonl").write_bytes(lines([record]))
    with Library([tmp_path / "root"], index_dir=tmp_path / "index", follow=True) as library:
        ids = [run.id for run in library.runs]
        (tmp_path / "root/eval_task").mkdir()
        (tmp_path / "root/eval_task/data.jsonl").write_bytes(lines([record]))
        eventually(lambda: any(("eval/task", 0) in run.snapshot().steps for run in library.runs))
        assert [run.id for run in library.runs] == ids


def test_a_run_in_a_new_folder_shows_before_all_others_are_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = {"prompt": "p", "response": "r", "reward": 1.0, "ref_reward": 0.5, "step": 0}
    for name in ("task", "other"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "data.jsonl").write_bytes(lines([record]))
    searches = list[int]()

    def counted(*given: Any, **more: Any) -> Discovery:
        found = discover(*given, **more)
        searches.append(len(found.runs))
        return found

    monkeypatch.setattr(library_module, "discover_begun", counted)
    monkeypatch.setattr(Library, "rest_after", lambda _self, took_s: 1e6 if took_s else 600.0)
    clock = SteppedClock()
    with Library(
        [tmp_path / "root"],
        index_dir=tmp_path / "index",
        follow=True,
        search=RunSearch(waits=True),
        work=IndexWork(clock=clock),
    ) as library:
        ids = [run.id for run in library.runs]
        for name in ("third", "eval_task"):
            (tmp_path / "root" / name).mkdir()
            (tmp_path / "root" / name / "data.jsonl").write_bytes(lines([record]))
        clock.until(lambda: {run.info.name for run in library.runs} >= {"third", "eval_task"})
        assert [run.id for run in library.runs][:2] == ids and set(searches[1:]) <= {1, 2}
        library.look()
        assert [run.id for run in library.runs] == [*ids, "third"], "a run after all of which it is an evaluation"
        assert any(run.wait(20) and ("eval/task", 0) in run.snapshot().steps for run in library.runs)


def test_paths_of_a_run_and_of_its_evaluation_are_one_run(tmp_path: Path) -> None:
    record = {"prompt": "p", "response": "r", "reward": 1.0, "ref_reward": 0.5, "step": 0}
    for name in ("task", "eval_task"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.jsonl").write_bytes(lines([record]))
    with Library([tmp_path / "task", tmp_path / "eval_task"], index_dir=tmp_path / "index") as library:
        (run,) = library.runs
        assert run.wait(20) and {split for split, _ in run.snapshot().steps} == {"train", "eval/task"}


def test_runs_of_one_place_have_ids_of_their_own_and_are_found_by_them(tmp_path: Path) -> None:
    one = RunInfo(name="a", format="relax", root="/x/a", parts=(), reason="")
    assert ids_of([one, msgspec.structs.replace(one, format="slime")])[1].endswith("+")
    relax_run(tmp_path / "x" / "same")
    relax_run(tmp_path / "y" / "same")
    with Library([tmp_path], index_dir=tmp_path / "index") as library:
        assert [library.find(run.id) for run in library.runs] == library.runs and len(library.runs) == 2
        assert library.find("same") is None


class Walk:
    """Stands for a search that goes on until somebody lets it end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.goes_on, self.error = threading.Event(), ""
        self._found: Any = discover
        monkeypatch.setattr(library_module, "discover", self)
        monkeypatch.setattr(library_module, "discover_begun", self)
        monkeypatch.setattr(library_module, "ADOPT_S", 0.02)

    def __call__(
        self, paths: Any, reading: Any = AS_FOUND, within_s: Any = None, on_find: Any = None, *, is_over: Any, **_: Any
    ) -> Discovery:
        found: Discovery = self._found(paths, reading, within_s, on_find, is_over)
        if on_find is not None:
            eventually(lambda: self.goes_on.is_set() or is_over())
        if self.error:
            raise OSError(self.error)
        return found


def test_the_runs_that_are_found_first_do_not_wait_for_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c/run", "d/run"):
        relax_run(tmp_path / "runs" / name, steps=1)
    (tmp_path / "runs/e").mkdir()
    walk = Walk(monkeypatch)
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.02)
    ) as library:
        told: list[str] = []
        library.subscribe(lambda kind, _: told.append(kind))
        eventually(lambda: len(library.runs) == 4 and all(row_count(run) == 8 for run in library.runs))
        assert library.is_searching and library.notes == []
        before = library.runs
        told.clear()
        walk.goes_on.set()
        eventually(lambda: not library.is_searching and library.notes != [])
        assert "runs" in told and library.runs == before
        assert [run.id for run in library.runs] == ["a", "b", "c-run", "d-run"]


def test_whoever_sees_that_the_search_has_ended_finds_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        relax_run(tmp_path / "runs" / name, steps=1)
    walk, searched, open_run = Walk(monkeypatch), dict[str, bool](), Library.open_run
    found = walk._found
    walk._found = lambda *how: found(*how[:3], lambda info: info.name == "a" and how[3] and how[3](info))

    def opened(library: Library, run_id: str, info: RunInfo) -> OpenRun:
        searched[run_id] = library.is_searching
        return open_run(library, run_id, info)

    monkeypatch.setattr(Library, "open_run", opened)
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.02)
    ) as library:
        eventually(lambda: len(library.runs) == 1)
        walk.goes_on.set()
        eventually(lambda: not library.is_searching)
        assert [run.id for run in library.runs] == ["a", "b"] and searched["b"]


def test_few_runs_are_indexed_while_the_first_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        relax_run(tmp_path / "runs" / name, steps=1)
    walk = Walk(monkeypatch)
    monkeypatch.setattr(library_module, "FIRST", 1)
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.02)
    ) as library:
        eventually(lambda: len(library.runs) == 3)
        first, opened, waiting = library.runs
        assert first.wait(30) and library.run("b") is opened and opened.wait(30)
        assert not waiting.wait(0.1)
        walk.goes_on.set()
        assert waiting.wait(30) and row_count(waiting) == 8


def test_runs_that_the_end_of_the_search_joins_to_others_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relax_run(tmp_path / "runs/a", steps=1)
    relax_run(tmp_path / "runs/b", steps=1)
    walk = Walk(monkeypatch)
    all_found = walk._found
    walk._found = lambda *how: all_found(*how)._replace(runs=all_found(*how[:3]).runs[1:])
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.02)
    ) as library:
        eventually(lambda: len(library.runs) == 2)
        gone, stays = library.runs
        walk.goes_on.set()
        eventually(lambda: library.runs == [stays])
        eventually(gone.indexer.stopped.is_set)


def test_a_search_that_fails_leaves_what_it_found_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relax_run(tmp_path / "runs/a", steps=1)
    walk = Walk(monkeypatch)
    walk.error = "the disk is gone"
    with Library(
        [tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=0.02)
    ) as library:
        assert library.is_searching
        walk.goes_on.set()
        eventually(lambda: not library.is_searching and library.notes != [])
        assert len(library.runs) == 1 and "the disk is gone" in library.notes[0].reason
    walk.goes_on.set()
    with pytest.raises(OSError, match="the disk is gone"):
        Library([tmp_path / "runs"], index_dir=tmp_path / "index", follow=True, search=RunSearch(patience_s=30))
