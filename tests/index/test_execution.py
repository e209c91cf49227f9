"""Processes that perform jobs, as a viewer starts them."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rolloupe.formats import discover
from rolloupe.formats.registry import by_name
from rolloupe.index.execution import JobReply, ProcessExecutor, ScanJob, processes
from rolloupe.model import RunInfo, Source
from tests import forks
from tests.index.support import relax_run


def scan_job(folder: Path) -> ScanJob:
    """A job that scans the first part of a run."""
    relax_run(folder / "run", steps=1)
    (run,) = discover([folder / "run"]).runs
    return ScanJob(folder=str(folder / "index"), run=run, source=by_name(run.format).sources(run)[0], part=0)


def test_a_process_of_its_own_scans_a_part_and_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_started", forks.START_WORKER)
    executor = ProcessExecutor(1)
    try:
        reply = executor.submit(scan_job(tmp_path)).result(60)
        assert reply.error == "" and reply.meta is not None and reply.meta.rows == 8
        (pid,) = executor.pids()
        least = os.getpriority(os.PRIO_PROCESS, 0) + processes.NICENESS
        assert os.getpriority(os.PRIO_PROCESS, pid) == min(least, 19)
    finally:
        executor.close()
    assert executor.pids() == []


def test_jobs_that_wait_when_the_executor_closes_get_empty_replies(tmp_path: Path) -> None:
    job = scan_job(tmp_path)
    executor = ProcessExecutor(1)
    waiting = [executor.submit(job) for _ in range(40)]
    executor.close()
    replies = [future.result(10) for future in waiting]
    assert replies[-1] == executor.submit(job).result(0) == JobReply()
    assert all(reply == JobReply() or reply.meta is not None for reply in replies)


def test_jobs_on_remote_files_are_taken_early_and_performed_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[processes.WorkOrder] = []
    began, may_go_on = threading.Event(), threading.Event()

    def performed(_: processes.Worker, order: processes.WorkOrder) -> JobReply:
        orders.append(order)
        began.set()
        may_go_on.wait(60)
        return JobReply(error=order.job.source.name)  # type: ignore[union-attr]

    def job(number: int) -> ScanJob:
        source = Source(name=str(number), path=f"/s3:/bucket/{number}.jsonl")
        return ScanJob(folder="", run=run, source=source, part=0, cost=10 * 2**20)

    run = RunInfo(name="", root="/s3:/bucket", format="relax", reason="", parts=())
    monkeypatch.setattr(processes.Worker, "perform", performed)
    executor = ProcessExecutor(1)
    try:
        first = executor.submit(job(0))
        began.wait(60)
        replies = [first, *(executor.submit(job(number)) for number in range(1, 6))]
        may_go_on.set()
        assert [reply.result(60).error for reply in replies] == list("012345")
    finally:
        may_go_on.set()
        executor.close()
    announced = [[one.source.name for one in order.announced] for order in orders]  # type: ignore[union-attr]
    assert announced == [[], ["2", "3", "4"], ["5"], [], [], []]


def test_a_thread_that_imports_meanwhile_sees_every_finder() -> None:
    code = """
import sys
from types import SimpleNamespace
from rolloupe.index.execution.pandas import keep_pandas_out
finders = list(sys.meta_path)
walked, seen = iter(sys.meta_path), []
sys.modules["pyarrow"] = SimpleNamespace(array=lambda values: seen.append(next(walked)))
keep_pandas_out()
assert [*seen, *walked] == finders == sys.meta_path
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
