"""`rolloupe index`: index runs in advance, so that later commands need not wait."""

import re
import time
from dataclasses import asdict, dataclass

import click

from rolloupe.cli.commands.doctor import size
from rolloupe.cli.options import command
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import OK, counted, print_table, tell
from rolloupe.errors import IncompleteIndex
from rolloupe.questions import option
from rolloupe.server.settings import INDEX_BUDGET, RunPaths
from rolloupe.storage import is_remote, place_of

SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")
CLUSTER = re.compile(r"ray(://[^/\s]+:\d{1,5})?")


def cluster_of(value: str) -> str:
    """Check `ray` or `ray://HOST:PORT`."""
    if not CLUSTER.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not a cluster; examples: ray, ray://head:10001")
    return value


def shard_of(value: str) -> tuple[int, int]:
    """Read `I/N`."""
    match = SHARD.fullmatch(value)
    number, count = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= count:
        raise click.BadParameter(f"{value!r} is not a shard; the first of eight is 1/8, the last 8/8")
    return number, count


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """What indexes the runs, and how much of them."""

    processes: int | None = option(None, "Number of processes. Default: one for each core, at most 8.", ge=1, le=256)
    shard: tuple[int, int] | None = option(
        None,
        "Index the I-th of N parts of the files, while other processes or machines index theirs into the same folder.",
        "I/N",
        convert=shard_of,
    )
    on: str | None = option(
        None,
        "Index on a running Ray cluster: the one that this machine is in, or the one whose client server has this "
        "address. Its nodes must see PATH and --index-dir at the same paths.",
        "ray[://HOST:PORT]",
        convert=cluster_of,
    )
    budget_bytes: int | None = option(None, **INDEX_BUDGET)


@command(has_run=False)
def index(asked: IndexOptions, place: RunPaths) -> int:
    r"""Index runs: numbers and texts, all steps.

    The other commands index what they need; this one does it in advance, for a large run or a shared folder. You can
    stop it at any time; the next run continues from there. Unchanged files are not read again.

    With --shard, many processes or machines share the work; the index is the same. When all are done, call it once more
    without --shard: if a shard is missing, that indexes the rest.

    Examples:
      rolloupe index RUNS_DIR  # All runs below a folder
      rolloupe index RUN_DIR --index-dir /scratch/rolloupe  # On another disk; later commands take the same option
      rolloupe index RUNS_DIR --processes 16 --index-budget 50GB  # On a large machine, within bounds
      rolloupe index RUN_DIR --index-dir /shared/index --on ray  # On the Ray cluster that this machine is part of
      rolloupe index RUN_DIR --index-dir /shared/index --shard $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT \
        # In a job array, with --array=1-8
      rolloupe index RUN_DIR --index-dir s3://bucket/index  # Shared in an object store
    """
    if asked.on and (asked.processes or asked.shard):
        raise click.UsageError("--on has all cores of the cluster: leave out --processes and --shard.")
    if asked.on and place.index_dir and is_remote(place_of(place.index_dir)):
        raise click.UsageError("--on needs an --index-dir that all nodes see, not one in a store.")
    began = time.monotonic()
    with opened(place, texts=True, **asdict(asked)) as runs:
        rows = []
        for run in runs:
            samples, total = sum(split.samples for split in run.splits()), run.indexed_bytes()[1]
            rows.append([run.id, run.format, samples, size(total), run.problem_count()])
        print_table(("run", "format", "samples", "files", "problems"), rows, right=("files",))
        seconds = time.monotonic() - began
        tell(f"The index is {size(runs.index_bytes())} at {runs.index_dir}; it took {seconds:.1f} s.")
        unsent = [f"  {run.id}: {run.unsent}" for run in runs if run.unsent]
        if unsent:
            raise IncompleteIndex("\n".join([f"the index is not shared at {runs.shared_at}:", *unsent]))
        if runs.shared_at:
            tell(f"It is shared at {runs.shared_at}.")
        if asked.shard and (waiting := sum(run.is_shard for run in runs)):
            which = "" if len(runs) == 1 else f" of {counted(waiting, 'run')}"
            words = f"Shard {asked.shard[0]} of {asked.shard[1]} is indexed; others{which} are not."
            tell(f"{words} Next: `rolloupe index` when all are done.")
        elif asked.shard:
            tell(f"All {asked.shard[1]} shards are indexed: the index is complete.")
        return OK
