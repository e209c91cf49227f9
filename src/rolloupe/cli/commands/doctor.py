"""`rolloupe doctor`: what Rolloupe recognises at a path, what it does not, and why."""

import atexit
import contextlib
import os
import platform
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rolloupe._version import __version__
from rolloupe.cli import options, progress
from rolloupe.cli.runs import check_reward_key, open_runs, require_complete
from rolloupe.cli.terminal import NOTHING, OK, UNREADABLE, counted, show_line, tell_json, without_samples
from rolloupe.errors import IncompleteIndex
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.formats import Note
    from rolloupe.model import Problem
    from rolloupe.query import Judge, SplitSummary

LIBRARIES = ("duckdb", "pyarrow", "msgspec", "starlette", "uvicorn")
SHOWN = 20

LIMIT_S = 5.0
"""The command promises ten seconds; the rest is for starting and stopping on a busy machine."""

LOOK_SHARE = 0.4
"""Longest share of the time for finding runs."""

INDEX_SHARE = 0.8
"""At this share of the time, the report takes the index as it is."""

CLOSE_S = 0.3

DOUBTS = {"launch": "perhaps several launches", "group": "perhaps other groups", "reward": "rewards"}
"""What may be wrong: a run was resumed over its files, other keys made its groups, its rewards may be no rewards."""


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """How much is reported, and in which form."""

    show_all: bool = option(False, f"List all problems and notes. Default: {SHOWN} of each.", flags=("--all",))
    as_json: bool = option(False, "Print everything as a JSON object.", flags=("--json",))


@options.command(has_run=False)
def doctor(asked: DoctorOptions, place: RunPaths) -> int:
    """Report what Rolloupe reads, in which format, what it skips, and why.

    Lists the recognised runs at PATH, the places that were skipped, the damaged records (with file, byte range and
    reason), the index and its size, and the versions in use. Answers within ten seconds, whatever PATH holds; if
    something was not looked at by then, the command lists it, and the exit code is 3.

    Examples:
      rolloupe doctor RUN_DIR  # Why is a run missing or incomplete?
      rolloupe doctor RUN_DIR --all  # Every record that could not be read
      rolloupe show RUN_DIR FILE:START-STOP --bytes  # One of these records, byte for byte
      rolloupe doctor RUN_DIR --json | jq '.runs[].problems'  # The same for a program
    """
    with progress.looking():
        report = examine(place)
    if asked.as_json:
        facts = {
            "runs": [_record_of_run(run) for run in report.runs],
            "notes": [{"path": note.path, "reason": note.reason} for note in report.notes],
            "not_looked_at": report.not_looked_at(),
            "index": {"path": report.index_dir, "bytes": report.index_bytes},
            "versions": versions(),
        }
        tell_json(facts, indent=2)
    else:
        _print(report, None if asked.show_all else SHOWN)
    missing = report.not_looked_at()
    if report.incomplete is not None:
        lines = [str(report.incomplete), *(f"Not looked at: {line}" for line in missing[:SHOWN])]
        raise IncompleteIndex("\n".join(lines))
    if missing:
        head = f"not everything was looked at within {report.within_s:g} s:"
        end = "Next: rolloupe index PATH, which takes its time; or name a folder below"
        raise IncompleteIndex("\n".join([head, *(f"  {line}" for line in missing[:SHOWN]), end]))
    return OK if report.runs else NOTHING


@dataclass
class RunDiagnosis:
    """One run: its contents, and how Rolloupe reads it."""

    id: str
    path: str
    format: str
    reason: str
    is_counted: bool = False
    """False until the contents of the run are counted, for which there may be no time."""
    splits: "list[SplitSummary]" = field(default_factory=list)
    judges: "list[Judge]" = field(default_factory=list)
    problem_count: int = 0
    problems: "list[Problem]" = field(default_factory=list)
    missing_bytes: int = 0
    """Bytes of the run's files that were not looked at in time."""
    total_bytes: int = 0
    metrics: int = 0
    """Number of the trainer's metrics, counted for a run without samples."""
    doubts: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in DOUBTS})


@dataclass
class Diagnosis:
    """The results so far. `doing` names the activity when the time was over; it is empty once all is done."""

    within_s: float
    doing: str = "looking for runs"
    notes: "list[Note]" = field(default_factory=list)
    runs: list[RunDiagnosis] = field(default_factory=list)
    index_dir: str = ""
    index_bytes: int | None = None
    error: Exception | None = None
    """The error that ended the examination."""
    incomplete: IncompleteIndex | None = None
    """The parts of the index that could not be made."""

    def not_looked_at(self) -> list[str]:
        """Return what is missing, one line for each; empty if nothing is."""
        late = [run for run in self.runs if run.missing_bytes]
        lines = [f"{run.id}: {run.missing_bytes:,} of {run.total_bytes:,} bytes" for run in late]
        lines += [f"{note.path}: {note.reason.partition('. Next:')[0]}" for note in self.notes if note.is_late]
        if self.doing:
            uncounted = sum(not run.is_counted for run in self.runs)
            runs = f", {counted(uncounted, 'run')} left" if uncounted else ""
            lines.append(f"time was over while {self.doing}{runs}")
        return lines


def examine(place: RunPaths) -> Diagnosis:
    """Gather a report within `LIMIT_S`. Raises the errors of opening the place.

    A thread gathers; when the time is over, the caller continues with the results so far. Neither a slow file system
    nor an endless file can delay the answer.
    """
    report = Diagnosis(LIMIT_S)
    opened: list[Runs] = []

    def gather() -> None:
        try:
            _examine(report, opened, place)
        except Exception as error:
            report.error = error
        report.doing = ""

    def close() -> None:
        for runs in opened:
            runs.close()

    def leave() -> None:
        """End the process at once if the thread still works: interpreter shutdown would abort it in native code."""
        if thread.is_alive():
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(UNREADABLE)

    thread = threading.Thread(target=gather, daemon=True)
    thread.start()
    thread.join(report.within_s)
    # a copy, which the thread can no longer change: later results would describe closed runs
    result = replace(report, notes=list(report.notes), runs=[replace(run) for run in report.runs])
    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(CLOSE_S)
    if thread.is_alive():
        atexit.register(leave)
    if result.error is not None:
        raise result.error
    return result


def _examine(report: Diagnosis, opened: "list[Runs]", place: RunPaths) -> None:
    began = time.monotonic()
    runs = open_runs(place, wait=False, look_s=LOOK_SHARE * report.within_s)
    opened.append(runs)
    report.notes, report.index_dir = list(runs.notes), str(runs.index_dir)
    report.runs = [RunDiagnosis(run.id, run.path, run.format, run.reason) for run in runs]
    report.doing = "indexing"
    for run in runs:
        run.wait(max(0.0, began + INDEX_SHARE * report.within_s - time.monotonic()))
    if all(run.wait(0) for run in runs):
        check_reward_key(runs, place.reading.reward_key)
    try:
        require_complete(runs)
    except IncompleteIndex as error:
        report.incomplete = error
    for number, run in enumerate(runs):
        report.doing = f"asking {run.id}"
        report.runs[number] = diagnosis_of(run)
    for run, found in zip(runs, report.runs, strict=True):
        if time.monotonic() - began < INDEX_SHARE * report.within_s:  # only a hint, so the first thing to leave out
            report.doing = f"looking at the groups of {run.id}"
            found.doubts = {**found.doubts, "group": list(run.group_doubts())}
    report.doing = "measuring the index"
    report.index_bytes = runs.index_bytes()


def diagnosis_of(run: "Run") -> RunDiagnosis:
    """Return the contents of a run, and how Rolloupe reads it."""
    indexed, total = run.indexed_bytes()
    splits = list(run.splits())
    return RunDiagnosis(
        id=run.id, path=run.path, format=run.format, reason=run.reason, is_counted=True, splits=splits,
        judges=list(run.judges()), problem_count=run.problem_count(), problems=list(run.problems()),
        missing_bytes=0 if run.wait(0) else max(1, total - indexed), total_bytes=total,
        metrics=0 if splits else len(run.metric_names()),
        doubts={"launch": list(run.launch_doubts()), "group": [], "reward": list(run.reward_doubts())},
    )  # fmt: skip


def versions() -> dict[str, str]:
    """Return the versions in use."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"rolloupe": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return {**found, "system": platform.platform()}


def _record_of_run(run: RunDiagnosis) -> dict[str, Any]:
    bars = {judge.split: (judge.metric, judge.bar) for judge in run.judges}
    return {
        **{name: getattr(run, name) for name in ("id", "path", "format", "reason")},
        "splits": {split.name: split.samples for split in run.splits},
        "evals": {
            split: {
                "metric": metric, "bar": bar.value, "by_env": dict(bar.by_env), "falls": bar.falls, "reason": bar.reason
            }
            for split, (metric, bar) in bars.items()
        },
        "is_counted": run.is_counted,
        "not_looked_at_bytes": run.missing_bytes,
        "superseded": {split.name: split.superseded for split in run.splits if split.superseded},
        **{f"{kind}_doubts": run.doubts[kind] for kind in DOUBTS},
        "problem_count": run.problem_count,
        "problems": [
            {"file": one.source, "start": one.start, "stop": one.stop, "reason": one.reason} for one in run.problems
        ],
    }  # fmt: skip


def _print(report: Diagnosis, most: int | None) -> None:
    in_time = " in time" if report.not_looked_at() else ""
    show_line((f"Recognised{in_time}: {counted(len(report.runs), 'run')}", "bold"))
    for run in report.runs:
        _print_run(run, most)
    if report.notes:
        show_line((f"Not read: {counted(len(report.notes), 'place')}", "bold"))
        for note in report.notes[:most]:
            show_line(f"  {note.path} ", (f"\N{EM DASH} {note.reason}", "dim"))
        _say_left(len(report.notes), most)
    if report.index_bytes is not None:
        show_line(("Index", "bold"))
        show_line(f"  {report.index_dir}, {size(report.index_bytes)} for these runs; may be deleted at any time")
    show_line(("Versions", "bold"))
    show_line("  " + ", ".join(f"{name} {version}" for name, version in versions().items()))


def _print_run(run: RunDiagnosis, most: int | None) -> None:
    show_line((f"  {run.id} ", "bold cyan"), run.path)
    show_line(f"    {run.format}: {run.reason}")
    if not run.is_counted:
        show_line(("    not looked at: time was over", "yellow"))
        return
    judges = {judge.split: judge for judge in run.judges}
    for split in run.splits:
        counts = ", ".join(counted(getattr(split, f"{noun}s"), noun) for noun in ("step", "group", "sample"))
        without = f", {split.reward.excluded} without a finite reward" if split.reward.excluded else ""
        superseded = counted(split.superseded, "sample")
        again = f"; {superseded} of steps that were recorded again left out" if split.superseded else ""
        show_line(f"    {split.name}: {counts}{without}{again}")
        if judge := judges.get(split.name):
            bar = judge.bar
            value = "at its best" if bar.by_env else f"{bar.value:g} or {'less' if bar.falls else 'more'}"
            show_line((f"      correct if {judge.metric} is {value}: {bar.reason}", "dim"))
    if run.missing_bytes:
        show_line((f"    {size(run.missing_bytes)} of {size(run.total_bytes)} not looked at", "yellow"))
    elif not run.splits:
        show_line((f"    {without_samples(run.metrics)}", "yellow"))
    for kind, doubts in run.doubts.items():
        for doubt in doubts:
            show_line((f"    {DOUBTS[kind]}: {doubt}", "yellow"))
    if run.problem_count:
        show_line((f"    {counted(run.problem_count, 'problem')}", "red"))
        for problem in run.problems[:most]:
            show_line(f"      {place(problem)}: {problem.reason}")
        _say_left(run.problem_count, most)
        return
    count = sum(split.reward.excluded for split in run.splits)
    unscored = f": every record was read, but {counted(count, 'sample')} had no finite reward" if count else ""
    so_far = " so far" if run.missing_bytes else ""
    show_line((f"    no problems{so_far}{unscored}", "yellow" if count else "green"))


def _say_left(count: int, most: int | None) -> None:
    if most is not None and count > most:
        show_line((f"      ... and {count - most} more: --all", "dim"))


def place(problem: "Problem") -> str:
    """Return where a problem is, in the form of `rolloupe show --bytes`: file and byte range."""
    if problem.start is None:
        return problem.source
    stop = "" if problem.stop is None else f"-{problem.stop}"
    return f"{problem.source}:{problem.start}{stop}"


def size(count: float) -> str:
    """Return a size in readable units."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
