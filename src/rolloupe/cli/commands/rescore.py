"""`rolloupe rescore`: score the samples of a run again with a person's own grader."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from rolloupe.cli import progress
from rolloupe.cli.options import StepRange, command, size_of, steps_of, with_paths, words
from rolloupe.cli.runs import only, opened
from rolloupe.cli.terminal import NOTHING, OK, complain, number, print_table, tell, tell_json
from rolloupe.questions import option
from rolloupe.server.settings import STATE_DIR, RunPaths

if TYPE_CHECKING:
    from rolloupe.insight.rescore import Rescored, RewardChange


WORDS = {
    "timeout": "took too long", "exception": "raised an exception", "memory": "needed too much memory",
    "crash": "ended the process", "not_finite": "returned NaN or infinity", "wrong_type": "returned no number",
    "unreadable": "could not be read",
}  # fmt: skip
"""What happened to samples without a score, by kind."""


@dataclass(frozen=True, kw_only=True)
class RescoreOptions:
    """What to score, and how."""

    words: tuple[str, ...]
    split: str = option("", "The split to score. Default: train.")
    steps: StepRange = option(None, "One step, or an inclusive range.", "N|A:B", convert=steps_of)
    jobs: int = option(2, "Number of child processes.", type=click.IntRange(1, 256), show_default=True)
    timeout_s: float = option(
        2.0, "Longest time for one sample.", "SECONDS", 0.01, 3600, flags=("--timeout",), show_default=True
    )
    memory_bytes: int = option(
        "1G", "Largest address space of a child process.", "SIZE", flags=("--memory",), convert=size_of,
        show_default=True,
    )  # fmt: skip
    python: str = option("", "Run the grader with this interpreter, such as of its venv.", "PATH")
    save: str = option("", "Name of the scores. Default: the name of the function.")
    forget: str = option("", "Only remove the scores of this name.")
    state_dir: str | None = option(None, **STATE_DIR)
    as_json: bool = option(False, "Print one JSON object.", flags=("--json",))


@command(arguments=words("PATH... FILE.py:FUNCTION"))
def rescore(asked: RescoreOptions, place: RunPaths) -> int:
    """Score the samples of a run again with a grader of your own.

    The function takes a sample, with prompt, response, label, turns, tool_calls, metrics and more, and returns a number
    or a dict with a score. Reward functions of verl (compute_score) and TRL (completions, **columns) work as they are;
    so do async functions, and those with a parameter `samples`, which get the samples of a group.

    THE LIMITS ARE NOT A SANDBOX. The grader runs with your rights: run only code that you trust. It runs in child
    processes with a limit of time, memory and file size, with an empty environment, and without its output, so that
    accidents end nothing: a failure on a sample is recorded with the sample. A grader that runs out of time on 50
    samples in a row hangs: the command ends early, and keeps the scores until then.

    The scores become the sample metric rescored.NAME, which lists, filters, charts and the page show. They lie in the
    state folder, never in the run.

    With --json, the object has run, name, column, grader, samples, total (more than samples if it ended early),
    failures (counts by kind), failed (the first of them: id, kind, reason) and change (samples, equal, correlation,
    sign_changes, groups, dead_before, dead_after, first_steps, last_steps, old_first, old_last, new_first, new_last,
    grader_share). The exit code is 1 if no sample was scored, or it ended early.

    Examples:
      rolloupe rescore RUN_DIR grader.py:fn  # What would this grader have paid?
      rolloupe rescore RUN_DIR grader.py:fn --steps 0:20 --save mended  # Some steps, under another name
      rolloupe rescore RUN_DIR rewards.py:compute_score --python ../verl/.venv/bin/python  # In its own venv
      rolloupe rescore RUN_DIR grader.py:fn --json | jq .change.grader_share  # For a program
      rolloupe query RUN_DIR --where 'reward > 1 and rescored.fn < 0.5'  # The samples that it lowers
      rolloupe rescore RUN_DIR --forget fn  # Remove the scores again
    """
    from rolloupe.insight.rescore import MOST_LATE

    paths, grader = [*asked.words, *place.paths], ""
    if not asked.forget:
        if not paths or ".py:" not in paths[-1]:
            raise click.UsageError("Name the grader last, as FILE.py:FUNCTION.")
        grader = paths.pop()
    with opened(with_paths(place, paths), state_dir=asked.state_dir) as runs:
        run = only(runs)
        if asked.forget:
            was_there = run.forget_scores(asked.forget)
            name = asked.forget
            complain(f"The scores of {name} are removed." if was_there else f"There are no scores of the name {name}.")
            return OK if was_there else NOTHING
        with progress.counting("Scoring") as advanced:
            names = ("steps", "jobs", "timeout_s", "memory_bytes", "save", "python")
            how = {name: getattr(asked, name) for name in names}
            scores = run.rescore(grader, split=asked.split or None, advanced=advanced, **how)
        if asked.as_json:
            facts = {
                "run": run.id, "name": scores.name, "column": scores.column, "grader": scores.grader,
                "samples": scores.samples, "total": scores.total, "failures": scores.failures,
                "failed": [failure._asdict() for failure in scores.failed], "change": asdict(scores.change),
            }  # fmt: skip
            tell_json(facts, indent=2)
        else:
            _print(scores)
        if scores.samples < scores.total:
            complain(
                f"Ended after {scores.samples:,} of {scores.total:,} samples: on the last {MOST_LATE} in a row, the "
                f"grader had no result after {asked.timeout_s:g} s. Next: see where it hangs, or raise --timeout."
            )
            return NOTHING
        return OK if scores.samples > sum(scores.failures.values()) else NOTHING


def _print(found: "Rescored") -> None:
    failed = sum(found.failures.values())
    tell(f"{found.samples:,} samples graded again by {found.grader}: the scores are {found.column}")
    if failed:
        kinds = ", ".join(f"{count:,} {WORDS[kind]}" for kind, count in found.failures.items())
        tell(f"{failed:,} without a score: {kinds}")
        print_table(("sample", "failure", "reason"), found.failed)
    _print_change(found.change)


def _print_change(change: "RewardChange") -> None:
    if not change.samples:
        tell("No sample has both a reward and a score.")
        return
    r, share = number(change.correlation), _percent(change.equal)
    tell(f"The score equals the reward in {share} of {change.samples:,} samples; r = {r}")
    if change.groups:
        before, after = f"{change.dead_before:,} before", f"{change.dead_after:,} after"
        tell(f"The sign of the group-centred advantage changes in {_percent(change.sign_changes)} of samples")
        tell(f"Groups in which all are equal: {before}, {after}, of {change.groups:,}")
    if change.first_steps and change.last_steps:
        spans = [f"steps {low} to {high}" for low, high in (change.first_steps, change.last_steps)]
        rows = [
            ["reward", change.old_first, change.old_last, _gain(change.old_first, change.old_last)],
            ["score", change.new_first, change.new_last, _gain(change.new_first, change.new_last)],
        ]
        print_table(("mean", *spans, "gain"), rows)
    if change.grader_share is not None:
        tell(of_old_grader(change))


def of_old_grader(change: "RewardChange") -> str:
    """Say which part of the gain came from the old grader; in words if the share is below 0 or above 1."""
    share = change.grader_share or 0.0
    old, new = (_gain(*pair) for pair in ((change.old_first, change.old_last), (change.new_first, change.new_last)))
    if share < 0:
        return f"None of the gain was the old grader's: the score rose by more ({new}) than the reward ({old})"
    if share > 1:
        return f"All of the gain was the old grader's: the reward rose ({old}), and the score fell ({new})"
    return f"The part of the gain that was the old grader's: {_percent(share)}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}%"


def _gain(first: float | None, last: float | None) -> str:
    return "-" if first is None or last is None else f"{last - first:+.4g}"
