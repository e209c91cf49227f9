"""Processes that perform jobs, as a viewer starts them."""

import json
import os
import platform
import subprocess
import sys
import threading
from binascii import hexlify
from pathlib import Path

import pytest

from rolloupe.formats import discover
from rolloupe.formats.registry import by_name
from rolloupe.index import execution
from rolloupe.index.execution import Job, JobReply, ProcessExecutor, ScanJob, perform
from rolloupe.index.segments.kind import BackfillJob
from rolloupe.index.segments.step_stats import encoded
from rolloupe.model import RunInfo, Source
from tests import forks
from tests.index.support import contents, opened, relax_run


def scan_job(folder: Path) -> ScanJob:
    """A job that scans the first part of a run."""
    relax_run(folder / "run", steps=1)
    (run,) = discover([folder / "run"]).runs
    return ScanJob(folder=str(folder / "index"), run=run, source=by_name(run.format).sources(run)[0], part=0)


def test_a_process_of_its_own_scans_a_part_and_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "start_process", forks.START_WORKER)
    executor = ProcessExecutor(1)
    try:
        reply = executor.submit(scan_job(tmp_path)).result(60)
        assert reply.error == "" and reply.meta is not None and reply.meta.rows == 8
        (pid,) = executor.pids()
        least = os.getpriority(os.PRIO_PROCESS, 0) + execution.NICENESS
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
    orders: list[execution.WorkOrder] = []
    began, may_go_on = threading.Event(), threading.Event()

    def performed(_: ProcessExecutor, number: int, order: execution.WorkOrder) -> JobReply:
        orders.append(order)
        began.set()
        may_go_on.wait(60)
        return JobReply(error=order.job.source.name)  # type: ignore[pyrefly:missing-attribute]

    def job(number: int) -> ScanJob:
        source = Source(name=str(number), path=f"/s3:/bucket/{number}.jsonl")
        return ScanJob(folder="", run=run, source=source, part=0, cost=10 * 2**20)

    run = RunInfo(name="", root="/s3:/bucket", format="relax", reason="", parts=())
    monkeypatch.setattr(ProcessExecutor, "perform", performed)
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
    announced = [[one.source.name for one in order.announced] for order in orders]  # type: ignore[pyrefly:missing-attribute]
    assert announced == [[], ["2", "3", "4"], ["5"], [], [], []]


def test_a_thread_that_imports_meanwhile_sees_every_finder() -> None:
    code = """
import sys
from types import SimpleNamespace
from rolloupe.index.execution import keep_pandas_out
finders = list(sys.meta_path)
walked, seen = iter(sys.meta_path), []
sys.modules["pyarrow"] = SimpleNamespace(array=lambda values: seen.append(next(walked)))
keep_pandas_out()
assert [*seen, *walked] == finders == sys.meta_path
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


UNCLOSED = """
import sys, rolloupe
path, index, other_index = sys.argv[1:]
runs = rolloupe.open(path, index_dir=index, follow=True), rolloupe.open(path, index_dir=other_index)
assert all(run.steps() for run in runs)
"""


def test_a_script_that_closes_nothing_ends_well_in_the_middle_of_indexing(tmp_path: Path) -> None:
    rollouts = tmp_path / "run.jsonl"
    words = "I think, wait, the answer is perhaps 3; sorry, let me check that again. " * 300
    with rollouts.open("w") as file:
        for number in range(150):  # less than what is indexed in the process that opens it
            file.write(json.dumps({"step": number, "prompt": "?", "response": f"{number} {words}", "reward": 1}) + "\n")
    arguments = [sys.executable, "-c", UNCLOSED, str(rollouts), str(tmp_path / "index"), str(tmp_path / "other")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_processes_that_nobody_closes_hold_no_program(tmp_path: Path) -> None:
    job = scan_job(tmp_path)
    code = """
import sys
from binascii import unhexlify
from rolloupe.index.execution import ProcessExecutor, ScanJob
from rolloupe.index.segments.step_stats import decoded
assert ProcessExecutor(1).submit(decoded(unhexlify(sys.argv[1]), ScanJob)).result(60).meta.rows == 8
"""
    subprocess.run([sys.executable, "-c", code, hexlify(encoded(job)).decode()], check=True, timeout=60)


def test_a_job_ends_at_once_that_nobody_waits_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "keep_freed_memory", None)  # a server that performs jobs itself stays small
    relax_run(tmp_path / "run", steps=1, samples=100)
    with opened(tmp_path / "run", tmp_path / "index") as library:
        run = library.runs[0]
        run.wait_all(30)
        source, meta = run.sources.get(run.snapshot().segments[0].meta.source), run.snapshot().segments[0].meta
        assert source is not None
    scan = ScanJob(folder=str(tmp_path / "other"), run=run.info, source=source, part=0)
    jobs: list[Job] = [
        scan,
        *(
            BackfillJob(folder=str(run.catalog.folder), run=run.info, source=source, meta=meta, kinds=[kind])
            for kind in ("texts", "derived", "features", "tokens")
        ),
    ]
    ended = threading.Event()
    assert all(perform(job, ended).meta for job in jobs)
    ended.set()
    before = contents(tmp_path)
    assert [perform(job, ended) for job in jobs] == [JobReply()] * len(jobs)
    assert contents(tmp_path) == before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have rules of their own")
def test_the_memory_of_arrays_is_kept_for_the_next_ones() -> None:
    script = """if True:
        import resource, numpy as np
        from rolloupe.index.execution import keep_freed_memory
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(20):
                some = [np.ones(2**17) for _ in range(8)]
                del some
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        alone = faults()
        keep_freed_memory()
        faults()
        print(alone, faults())"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    alone, kept = map(int, done.stdout.split())
    assert kept < alone / 10
