"""`rolloupe index`: index runs in advance, so that later commands need not wait."""

import time
from typing import Any

import click

from rolloupe.cli import options
from rolloupe.cli.commands.doctor import size
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.terminal import number, print_table, tell

EXAMPLES = (
    Example("rolloupe index RUNS_DIR", "All runs below a folder"),
    Example(
        "rolloupe index RUN_DIR --index-dir /scratch/rolloupe", "On another disk; later commands take the same option"
    ),
    Example("rolloupe index RUNS_DIR --processes 16 --index-budget 50GB", "On a large machine, within bounds"),
)


@click.command(cls=Command, examples=EXAMPLES)
@options.paths
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Number of processes. Default: one for each core, at most 8.",
)
@options.budget
@options.reading
def index(processes: int | None, budget_bytes: int | None, **place: Any) -> int:
    """Index runs: numbers and texts, all steps.

    The other commands index what they need; this one does it in advance, for a large run or a shared folder. You can
    stop it at any time; the next run continues from there. Unchanged files are not read again.
    """
    began = time.monotonic()
    where = options.place_of(**place)
    with options.opened(where, texts=True, processes=processes, budget_bytes=budget_bytes) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        rows = []
        for run in runs:
            splits = run.splits()
            samples, total = sum(split.samples for split in splits), run.indexed_bytes()[1]
            rows.append([run.id, run.format, number(samples), size(total), number(run.problem_count())])
        print_table(("run", "format", "samples", "files", "problems"), rows, numbers=("samples", "files", "problems"))
        seconds = time.monotonic() - began
        tell(f"The index is {size(runs.index_bytes())} at {runs.index_dir}; it took {seconds:.1f} s.")
        return OK
