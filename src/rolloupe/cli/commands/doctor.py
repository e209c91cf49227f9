"""`rolloupe doctor`: what Rolloupe recognises at a path, what it does not, and why."""

import platform
from typing import TYPE_CHECKING, Any

import click

from rolloupe._version import __version__
from rolloupe.cli import options, progress
from rolloupe.cli.diagnosis import Diagnosis, Findings, examine
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import line, output, tell, without_samples
from rolloupe.errors import IncompleteIndex

if TYPE_CHECKING:
    from rich.console import Console

    from rolloupe.model import Problem
    from rolloupe.query import Judge

LIBRARIES = ("duckdb", "pyarrow", "msgspec", "starlette", "uvicorn")
SHOWN = 20

EXAMPLES = (
    Example("rolloupe doctor RUN_DIR", "Why is a run missing or incomplete?"),
    Example("rolloupe doctor RUN_DIR --all", "Every record that could not be read"),
    Example("rolloupe show RUN_DIR FILE:START-STOP --bytes", "One of these records, byte for byte"),
    Example("rolloupe doctor RUN_DIR --json | jq '.runs[].problems'", "The same for a program"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@click.option("--all", "show_all", is_flag=True, help=f"List all problems and notes. Default: {SHOWN} of each.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as a JSON object.")
@options.reading
def doctor(show_all: bool, as_json: bool, **place: Any) -> int:
    """Report what Rolloupe reads, in which format, what it skips, and why.

    Lists the recognised runs at PATH, the places that were skipped, the damaged records (with file, byte range and
    reason), the index and its size, and the versions in use. Answers within ten seconds, whatever PATH holds; if
    something was not looked at by then, the command lists it, and the exit code is 3.
    """
    with progress.looking():
        report = examine(options.place_of(**place))
    if as_json:
        tell(dumps(_record(report), indent=2))
    else:
        _print(report, None if show_all else SHOWN)
    missing = report.not_looked_at()
    if report.incomplete is not None:
        raise IncompleteIndex(
            "\n".join([str(report.incomplete), *(f"Not looked at: {one}" for one in missing[:SHOWN])])
        )
    if missing:
        raise IncompleteIndex(
            "\n".join([
                f"not everything was looked at within {report.within_s:g} s:",
                *(f"  {one}" for one in missing[:SHOWN]),
                "Next: rolloupe index PATH, which takes its time; or name a folder below",
            ])
        )  # fmt: skip
    return OK if report.runs else NOTHING


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


def _record(report: Diagnosis) -> dict[str, Any]:
    return {
        "runs": [
            {
                "id": run.id,
                "path": run.path,
                "format": run.format,
                "reason": run.reason,
                "splits": {split.name: split.samples for split in run.splits},
                "evals": {judge.split: _record_of(judge) for judge in run.judges},
                "is_counted": run.is_counted,
                "not_looked_at_bytes": run.missing_bytes,
                "superseded": {split.name: split.superseded for split in run.splits if split.superseded},
                "launch_doubts": list(run.doubts),
                "group_doubts": list(run.group_doubts),
                "reward_doubts": list(run.reward_doubts),
                "problem_count": run.problem_count,
                "problems": [
                    {"file": one.source, "start": one.start, "stop": one.stop, "reason": one.reason}
                    for one in run.problems
                ],
            }
            for run in report.runs
        ],
        "notes": [{"path": note.path, "reason": note.reason} for note in report.notes],
        "not_looked_at": report.not_looked_at(),
        "index": {"path": report.index_dir, "bytes": report.index_bytes},
        "versions": versions(),
    }


def _record_of(judge: "Judge") -> dict[str, Any]:
    value, by_env, falls, reason = judge.bar
    return {"metric": judge.metric, "bar": value, "by_env": dict(by_env), "falls": falls, "reason": reason}


def _print(report: Diagnosis, most: int | None) -> None:
    console = output()
    console.print(line(f"Recognised: {_count(len(report.runs), 'run')}", "bold"))
    for run in report.runs:
        _print_run(console, run, most)
    if report.notes:
        console.print(line(f"Not read: {_count(len(report.notes), 'place')}", "bold"))
        for note in report.notes[:most]:
            console.print(line(f"  {note.path}"), line(f"\N{EM DASH} {note.reason}", "dim"), soft_wrap=True)
        _say_left(console, len(report.notes), most)
    if report.index_bytes is not None:
        console.print(line("Index", "bold"))
        console.print(
            line(f"  {report.index_dir}, {size(report.index_bytes)} for these runs; may be deleted at any time"),
            soft_wrap=True,
        )
    console.print(line("Versions", "bold"))
    console.print(line("  " + ", ".join(f"{name} {one}" for name, one in versions().items())), soft_wrap=True)


def _print_run(console: "Console", run: Findings, most: int | None) -> None:
    console.print(line(f"  {run.id}", "bold cyan"), line(run.path), soft_wrap=True)
    console.print(line(f"    {run.format}: {run.reason}"), soft_wrap=True)
    if not run.is_counted:
        console.print(line("    not looked at: time was over", "yellow"))
        return
    judges = {judge.split: judge for judge in run.judges}
    for split in run.splits:
        counts = ", ".join(
            (_count(split.steps, "step"), _count(split.groups, "group"), _count(split.samples, "sample"))
        )
        without = f", {split.reward.excluded} without a finite reward" if split.reward.excluded else ""
        superseded = _count(split.superseded, "sample")
        again = f"; {superseded} of steps that were recorded again left out" if split.superseded else ""
        console.print(line(f"    {split.name}: {counts}{without}{again}"), soft_wrap=True)
        if split.name in judges:
            console.print(line(f"      {_criterion(judges[split.name])}", "dim"), soft_wrap=True)
    if not (run.splits or run.missing_bytes):
        console.print(line(f"    {without_samples(run.metrics)}", "yellow"), soft_wrap=True)
    if run.missing_bytes:
        missing = f"{size(run.missing_bytes)} of {size(run.total_bytes)} not looked at"
        console.print(line(f"    {missing}", "yellow"))
    for doubt in run.doubts:
        console.print(line(f"    perhaps several launches: {doubt}", "yellow"), soft_wrap=True)
    for doubt in run.group_doubts:
        console.print(line(f"    perhaps other groups: {doubt}", "yellow"), soft_wrap=True)
    for doubt in run.reward_doubts:
        console.print(line(f"    rewards: {doubt}", "yellow"), soft_wrap=True)
    count = run.problem_count
    if count:
        console.print(line(f"    {_count(count, 'problem')}", "red"))
        for problem in run.problems[:most]:
            console.print(line(f"      {place(problem)}: {problem.reason}"), soft_wrap=True)
        _say_left(console, count, most)
    else:
        count = sum(split.reward.excluded for split in run.splits)
        unscored = f": every record was read, but {_count(count, 'sample')} had no finite reward" if count else ""
        so_far = " so far" if run.missing_bytes else ""
        console.print(line(f"    no problems{so_far}{unscored}", "yellow" if count else "green"), soft_wrap=True)


def _criterion(judge: "Judge") -> str:
    """Return which metric grades an evaluation, and why."""
    bar = judge.bar
    value = "at its best" if bar.by_env else f"{bar.value:g} or {'less' if bar.falls else 'more'}"
    return f"correct if {judge.metric} is {value}: {bar.reason}"


def _say_left(console: "Console", count: int, most: int | None) -> None:
    if most is not None and count > most:
        console.print(line(f"      ... and {count - most} more: --all", "dim"))


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


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
