"""Processes that perform jobs, as a viewer starts them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rolloupe.formats import discover
from rolloupe.formats.registry import by_name
from rolloupe.index.execution import JobReply, ProcessExecutor, ScanJob, processes
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
