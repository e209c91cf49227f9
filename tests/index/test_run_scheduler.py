"""Many runs share a few threads: each has its turn, and none waits for the work of another."""

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from rolloupe.index import IndexWork, Library, OpenRun, sources
from rolloupe.index import library as library_module
from rolloupe.index.run_indexer import RunIndexer
from rolloupe.index.run_scheduler import MOST_THREADS, RunScheduler, ScheduledRun
from rolloupe.index.sources import PollTimes
from tests.index.support import SteppedClock, eventually, lines, opened, relax_run, row, row_count


def of(rests: list[float | None]) -> Callable[[], float | None]:
    """A run that rests so long after each of its turns."""
    return lambda: rests.pop(0)


class Held:
    """A run whose first turn lasts until it may go on, and which then rests for long; the second is its last."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.turns = 0

    def __call__(self) -> float | None:
        self.turns += 1
        self.began.set()
        self.goes_on.wait(20)
        return 3600.0 if self.turns == 1 else None


def all_over(tickets: list[ScheduledRun]) -> bool:
    return all(ticket.over.wait(20) for ticket in tickets)


def started(before: set[threading.Thread]) -> int:
    """How many threads look after runs that did not at the start of a test."""
    return sum(thread.name == "index" for thread in set(threading.enumerate()) - before)


def test_a_run_has_turns_until_its_last() -> None:
    rests: list[float | None] = [0.01, 0.0, 0.01, None]
    assert all_over([RunScheduler().add(of(rests))])
    assert rests == []


def test_a_call_ends_a_rest() -> None:
    rests: list[float | None] = [3600.0, 3600.0, None]
    turns = RunScheduler()
    ticket = turns.add(of(rests))
    eventually(lambda: len(rests) == 2 and not ticket.has_turn)
    turns.call(ticket)
    eventually(lambda: len(rests) == 1 and not ticket.has_turn)
    turns.call(ticket)
    assert all_over([ticket])


def test_a_call_within_a_turn_brings_another_turn() -> None:
    run = Held()
    turns = RunScheduler()
    ticket = turns.add(run)
    assert run.began.wait(20)
    turns.call(ticket)
    run.goes_on.set()
    assert all_over([ticket])
    assert run.turns == 2


def test_two_turns_of_a_run_never_overlap_and_every_run_has_its_own() -> None:
    turns, within, most = RunScheduler(most=4), [0] * 50, []

    def of_run(number: int) -> Callable[[], float | None]:
        rests: list[float | None] = [0.001, 0.0, 0.002, 0.0, None]

        def work() -> float | None:
            within[number] += 1
            most.append(within[number])
            time.sleep(0.001)
            within[number] -= 1
            return rests.pop(0)

        return work

    tickets = [turns.add(of_run(number)) for number in range(50)]
    for _ in range(20):
        for ticket in tickets:
            turns.call(ticket)
    assert all_over(tickets)
    assert most == [1] * 250


def test_runs_that_have_more_to_do_leave_polls_their_turn() -> None:
    turns, is_done = RunScheduler(most=2), threading.Event()

    def work() -> float | None:
        time.sleep(0.02)
        return None if is_done.is_set() else 0.0

    busy = [turns.add(work) for _ in range(40)]
    polls: list[float] = []

    def poll() -> float | None:
        polls.append(time.monotonic())
        return 0.01

    polled = turns.add(poll)
    eventually(lambda: len(polls) >= 20)
    rests = sorted(later - earlier for earlier, later in pairwise(polls))
    assert rests[len(rests) // 2] < 0.2  # a round of the others takes 0.4 s
    is_done.set()
    turns.end(polled)
    assert all_over([*busy, polled])


def test_an_ended_run_has_no_further_turn() -> None:
    run = Held()
    turns = RunScheduler()
    ticket = turns.add(run)
    assert run.began.wait(20)
    turns.end(ticket)
    assert not ticket.over.is_set()
    run.goes_on.set()
    assert all_over([ticket])
    turns.call(ticket)
    time.sleep(0.1)
    assert run.turns == 1


def test_threads_end_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolloupe.index.run_scheduler.IDLE_S", 0.05)
    before, turns = set(threading.enumerate()), RunScheduler()
    assert all_over([turns.add(of([0.01, None])) for _ in range(10)])
    eventually(lambda: started(before) == 0)
    assert all_over([turns.add(of([None]))])  # and others start


def test_a_defect_in_a_turn_costs_no_other_run_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    defects: list[object] = []
    monkeypatch.setattr(threading, "excepthook", defects.append)

    def work() -> float | None:
        raise ValueError

    turns = RunScheduler(most=1)
    assert all_over([turns.add(work) for _ in range(3)])
    eventually(lambda: len(defects) == 3)
    assert all_over([turns.add(of([0.0, None]))])


def test_many_runs_are_polled_less_often_unless_somebody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunScheduler, "crowd_s", 3600.0)
    relax_run(tmp_path / "run", steps=1)
    clock = SteppedClock()
    with Library([tmp_path / "run"], index_dir=tmp_path / "index", follow=True, work=IndexWork(clock=clock)) as library:
        (run,) = library.runs
        assert run.wait_all(60)
        (tmp_path / "run/rollout_result/train/5.jsonl").write_bytes(lines([row(5, 0)]))
        clock.step(60.0)
        time.sleep(0.1)
        assert row_count(run) == 8
        assert library.run("run") is run
        eventually(lambda: row_count(run) == 9)
        (tmp_path / "run/rollout_result/train/6.jsonl").write_bytes(lines([row(6, 0)]))
        eventually(lambda: row_count(run) == 10)


def test_a_run_that_somebody_waits_for_is_indexed_before_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdef":
        relax_run(tmp_path / "runs" / name, steps=1)
    order, goes_on, turn = list[str](), threading.Event(), RunIndexer.turn

    def noted(indexer: RunIndexer) -> float | None:
        order.append(indexer.info.name)
        goes_on.wait(30)
        return turn(indexer)

    monkeypatch.setattr(RunIndexer, "turn", noted)
    monkeypatch.setattr(library_module, "RunScheduler", lambda clock: RunScheduler(1, clock))
    with Library([tmp_path / "runs"], index_dir=tmp_path / "index") as library:
        eventually(lambda: len(order) == 1)
        last = library.runs[-1].id if order[0] != library.runs[-1].id else library.runs[0].id
        library.run(last)
        goes_on.set()
        eventually(lambda: len(order) > 1)
        assert order[1] == last


def test_many_runs_that_are_old_are_polled_still_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SteppedClock()
    turns = RunScheduler(clock=clock)
    monkeypatch.setattr(turns, "open_runs", 1000)
    monkeypatch.setattr(turns, "poll_s", 0.001)
    assert (turns.crowd_s, turns.old_crowd_s) == (5.0, 20.0)
    relax_run(tmp_path / "run", steps=1)
    with Library([tmp_path / "run"], index_dir=tmp_path / "index", work=IndexWork(clock=clock)) as library:
        (run,) = library.runs
        assert run.wait_all(60)
        times = PollTimes(run.indexer.sources, turns, clock)
        times.started_s = clock.now_s()
        assert times.rest_s == 5.0
        clock.step(sources.OLD_S + 1)
        assert times.rest_s == 20.0


def test_many_runs_need_few_threads_and_a_growing_one_is_followed(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    for number in range(60):
        relax_run(tmp_path / f"runs/run{number}", steps=1)
    with Library([tmp_path / "runs"], index_dir=tmp_path / "index", follow=True) as library:
        assert len(library.runs) == 60 and all(run.wait(60) for run in library.runs)
        assert 0 < started(before) <= MOST_THREADS
        (tmp_path / "runs/run7/rollout_result/train/5.jsonl").write_bytes(lines([row(5, 0)]))
        eventually(lambda: row_count(library.run("run7")) == 9)


def test_a_run_that_is_being_indexed_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolloupe.index.run_indexer.TURN_S", 0.0)
    monkeypatch.setattr(RunScheduler, "others_wait", True)
    monkeypatch.setattr(OpenRun, "start", lambda *_, **__: None)  # its turns are those of the test alone
    relax_run(tmp_path / "run", steps=5)
    with Library([tmp_path / "run"], index_dir=tmp_path / "index") as library:
        (run,) = library.runs
        assert run.indexer.turn() == 0.0
        assert 0 < row_count(run) < 40
        monkeypatch.setattr(RunScheduler, "others_wait", False)
        assert run.indexer.turn() is None
        assert row_count(run) == 40 and run.wait_all(0)


def test_one_slow_poll_delays_no_other(tmp_path: Path) -> None:
    relax_run(tmp_path / "run")
    clock = SteppedClock()
    with opened(tmp_path / "run", tmp_path / "index") as library:
        times = PollTimes(library.runs[0].indexer.sources, RunScheduler(clock=clock), clock)
        rests = []
        for took_s in (5.0, 0.0, 5.0, 5.0):  # the first waits for imports, the others for the disk
            began_s = clock.now_s()
            clock.step(took_s)
            times.note_poll(began_s)
            rests.append(times.rest_s)
    assert rests[:3] == [sources.POLL_S] * 3 and rests[3] == sources.MAX_REST_S
