"""The report of `rolloupe doctor`, gathered within a time limit, whatever a path holds.

A thread gathers; when the time is over, the caller continues with the results so far. Neither a slow file system nor an
endless file can delay the answer.
"""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rolloupe.cli.frame import UNREADABLE
from rolloupe.cli.options import RunPaths, check_reward_key, require_complete
from rolloupe.cli.terminal import complain
from rolloupe.errors import IncompleteIndex

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.formats import Note
    from rolloupe.model import Problem
    from rolloupe.query import Judge, SplitSummary

LIMIT_S = 5.0
"""Of the command's promised ten seconds, the rest is for starting and stopping on a busy machine."""

LOOK_SHARE = 0.4
"""Longest share of the time for finding runs."""

INDEX_SHARE = 0.8
"""At this share of the time, the report takes the index as it is."""

CLOSE_S = 0.3


@dataclass(frozen=True)
class Findings:
    """One run: its contents, and how Rolloupe reads it."""

    id: str
    path: str
    format: str
    reason: str
    splits: "Sequence[SplitSummary]"
    judges: "Sequence[Judge]"
    problem_count: int
    problems: "Sequence[Problem]"
    missing_bytes: int
    """Bytes of the run's files that were not looked at in time."""
    total_bytes: int
    doubts: "Sequence[str]" = ()
    """What looks as if the run was resumed over its own files."""
    group_doubts: "Sequence[str]" = ()
    """What looks as if other keys made its groups."""
    reward_doubts: "Sequence[str]" = ()
    """What looks as if its rewards were none."""
    metrics: int = 0
    """Number of the trainer's metrics, counted for a run without samples."""
    is_counted: bool = True
    """False if there was no time to count the run's contents."""


@dataclass
class Diagnosis:
    """The results so far. `doing` names the activity when the time was over; it is empty once all is done."""

    within_s: float
    doing: str = "looking for runs"
    notes: "list[Note]" = field(default_factory=list)
    runs: list[Findings] = field(default_factory=list)
    index_dir: str = ""
    index_bytes: int | None = None
    error: Exception | None = None
    """The error that ended the examination."""
    incomplete: IncompleteIndex | None = None
    """The parts of the index that could not be made."""

    def as_it_is(self) -> "Diagnosis":
        """Return a copy that the gathering thread can no longer change."""
        return replace(self, notes=list(self.notes), runs=list(self.runs))

    def not_looked_at(self) -> list[str]:
        """Return what is missing, one line for each; empty if nothing is."""
        lines = [
            f"{run.id}: {run.missing_bytes:,} of {run.total_bytes:,} bytes" for run in self.runs if run.missing_bytes
        ]
        lines += [f"{note.path}: {note.reason.partition('. Next:')[0]}" for note in self.notes if note.is_late]
        if self.doing:
            uncounted = sum(not run.is_counted for run in self.runs)
            runs = f", {uncounted} run{'' if uncounted == 1 else 's'} left" if uncounted else ""
            lines.append(f"time was over while {self.doing}{runs}")
        return lines


def examine(place: RunPaths) -> Diagnosis:
    """Gather a report within `LIMIT_S`. Raises the errors of opening the place."""
    report = Diagnosis(LIMIT_S)
    opened: list[Runs] = []
    thread = threading.Thread(target=_gather, args=(report, opened, place), daemon=True)
    thread.start()
    thread.join(report.within_s)
    report = report.as_it_is()  # before closing the runs: later results would describe closed runs
    closing = threading.Thread(target=_close, args=(opened,), daemon=True)
    closing.start()
    closing.join(CLOSE_S)
    if thread.is_alive():
        atexit.register(_leave, thread)
    if report.error is not None:
        raise report.error
    return report


def _leave(thread: threading.Thread) -> None:
    """End the process at once if the thread still works: interpreter shutdown would abort it in native code."""
    if thread.is_alive():
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(UNREADABLE)


def _close(opened: "list[Runs]") -> None:
    for runs in opened:
        runs.close()


def _gather(report: Diagnosis, opened: "list[Runs]", place: RunPaths) -> None:
    try:
        _examine(report, opened, place)
    except Exception as error:
        report.error = error
    report.doing = ""


def _examine(report: Diagnosis, opened: "list[Runs]", place: RunPaths) -> None:
    from rolloupe import api
    from rolloupe.index.execution.processes import keep_pandas_out
    from rolloupe.storage import notices

    notices.listen(complain)
    keep_pandas_out()
    began = time.monotonic()
    runs = api.runs_at(
        [Path(path) for path in place.paths],
        index_dir=place.index_dir,
        reading=place.reading,
        wait=False,
        look_s=LOOK_SHARE * report.within_s,
    )
    opened.append(runs)
    report.notes, report.index_dir = list(runs.notes), str(runs.index_dir)
    report.runs = [_recognised(run) for run in runs]
    report.doing = "indexing"
    for run in runs:
        run.wait(max(0.0, began + INDEX_SHARE * report.within_s - time.monotonic()))
    if all(run.wait(0) for run in runs):
        check_reward_key(runs, place.reading.reward_key)
    try:
        require_complete(runs, None)
    except IncompleteIndex as error:
        report.incomplete = error
    for number, run in enumerate(runs):
        report.doing = f"asking {run.id}"
        report.runs[number] = _findings(run)
    for number, run in enumerate(runs):
        if time.monotonic() - began < INDEX_SHARE * report.within_s:  # a hint, and so the first thing to do without
            report.doing = f"looking at the groups of {run.id}"
            report.runs[number] = replace(report.runs[number], group_doubts=run.group_doubts())
    report.doing = "measuring the index"
    report.index_bytes = runs.index_bytes()


def _recognised(run: "Run") -> Findings:
    """Return the facts of a run that need no query."""
    return Findings(
        id=run.id, path=run.path, format=run.format, reason=run.reason, splits=(), judges=(), problem_count=0,
        problems=(), missing_bytes=0, total_bytes=0, is_counted=False,
    )  # fmt: skip


def _findings(run: "Run") -> Findings:
    indexed, total = run.indexed_bytes()
    splits = list(run.splits())
    return Findings(
        id=run.id, path=run.path, format=run.format, reason=run.reason, splits=splits, judges=run.judges(),
        problem_count=run.problem_count(), problems=run.problems(),
        missing_bytes=0 if run.wait(0) else max(1, total - indexed), total_bytes=total,
        metrics=0 if splits else len(run.metric_names()), doubts=run.launch_doubts(),
        reward_doubts=run.reward_doubts(),
    )  # fmt: skip
