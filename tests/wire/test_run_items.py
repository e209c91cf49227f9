import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from rolloupe.index import Library, OpenRun
from rolloupe.wire import run_items
from rolloupe.wire.runs import SplitItem
from tests.server.support import relax_run


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    for name in ("a", "b", "c"):
        relax_run(tmp_path / "runs" / name)
    with Library([tmp_path / "runs"], index_dir=tmp_path / "index") as opened:
        assert all(run.wait_all(30) for run in opened.runs)
        yield opened


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the runs that were described anew, in order."""
    ids: list[str] = []
    describe = run_items.split_items

    def noted(run: OpenRun) -> list[SplitItem]:
        ids.append(run.id)
        return describe(run)

    monkeypatch.setattr(run_items, "LOOK_S", 0.0)
    monkeypatch.setattr(run_items, "split_items", noted)
    return ids


def test_a_list_describes_only_runs_that_changed(library: Library, described: list[str]) -> None:
    first = run_items.run_items(library.runs)
    assert described == [run.id for run in library.runs] and all(item.splits for item in first)
    described.clear()
    again = run_items.run_items(library.runs)
    assert described == [] and [item.splits for item in again] == [item.splits for item in first]
    library.runs[1].catalog.touch()
    changed = run_items.run_items(library.runs)
    assert described == [library.runs[1].id]
    assert [item.version for item in changed] == [run.version for run in library.runs]


def test_what_changes_by_itself_is_told_each_time(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_items, "LOOK_S", 0.0)
    assert [item.ending for item in run_items.run_items(library.runs)] == ["", "", ""]
    library.runs[0].indexer.facts.ending = "ended"
    assert [item.ending for item in run_items.run_items(library.runs)] == ["ended", "", ""]


def test_files_beside_the_samples_are_looked_at_in_turn(
    library: Library, described: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_items.run_items(library.runs)
    described.clear()
    monkeypatch.setattr(run_items, "LOOK_S", 2.5)  # seconds of a clock that goes on by one at each look at it
    ticks = itertools.count(10**6)
    monkeypatch.setattr(run_items, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    run_items.run_items(library.runs)
    run_items.run_items(library.runs)
    run_items.run_items(library.runs)
    assert described == [run.id for run in library.runs], "one for each list, that of the longest ago"


def test_a_long_list_does_not_wait_for_files_beside_the_samples(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in library.runs[:2]:
        (Path(run.info.root) / "metrics.jsonl").write_text('{"step": 0, "loss": 1.0}\n{ broken\n{"step": 1}\n')
    monkeypatch.setattr(run_items, "FIRST_S", -1.0)
    monkeypatch.setattr(run_items, "LOOK_S", -1.0)
    assert [item.problems for item in run_items.run_items(library.runs)] == [0, 0, 0]
    assert run_items.look_on(library.runs) == ([], library.runs)
    monkeypatch.setattr(run_items, "LOOK_S", 30.0)
    assert run_items.look_on(library.runs) == (library.runs[:2], [])
    assert run_items.look_on(library.runs) == ([], [])
    assert [item.problems for item in run_items.run_items(library.runs)] == [1, 1, 0]
